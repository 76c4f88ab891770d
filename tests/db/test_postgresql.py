"""PostgreSQL behaves as SQLite does."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import date
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Engine, delete
from sqlalchemy.exc import OperationalError

from app.classes.people.policy import Policy
from app.core.errors import UnavailableError
from app.server.db import session
from app.server.db.backup import backup, move, restore, row_count, snapshot
from app.server.db.exercise_histories import reveals_of
from app.server.db.history import RevealedParts
from app.server.db.learner_cookie import Grant, Tokens, create_token
from app.server.db.migrations import alembic_configuration, exclusive, migrate, probe
from app.server.db.personal import collect_everything, delete_everything, merge
from app.server.db.records import MergeResult
from app.server.db.session import connect, open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import LabRunRow, ReplayRow, Reveal, now
from app.server.db.writer import Writer, store
from tests.api import test_retries as retries
from tests.db import test_histories as together
from tests.db import test_merging as merging
from tests.db import test_persons as persons
from tests.db import test_queue as queue
from tests.db import test_secret as secret
from tests.db.postgresql import cluster
from tests.db.test_backup import content_of, fill
from tests.db.test_rows import NOON, attempt
from tests.federation import test_identities as identities
from tests.federation.lti import test_outbox as outbox
from tests.federation.lti.fake_platform import fake_platform
from tests.people import test_gradebook as gradebook
from tests.people import test_rosters as rosters
from tests.people.test_turns import changes_are_not_lost
from tests.waiting import HANGS

pytestmark = [pytest.mark.slow(15), pytest.mark.needs("postgresql")]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with cluster() as made:
        yield made


@pytest.fixture
def server(url: str) -> Iterator[Engine]:
    migrate(url)
    engine = connect(url)
    yield engine
    with open_session(engine) as session:
        delete_everything(session, "l")
    engine.dispose()


def test_four_servers_may_migrate_at_once_and_the_tables_are_those_described(url: str) -> None:
    code = "import sys; from app.server.db.migrations import migrate; migrate(sys.argv[1])"
    started = [subprocess.Popen([sys.executable, "-c", code, url]) for _ in range(4)]
    assert [process.wait(timeout=10 * HANGS) for process in started] == [0] * 4
    with exclusive(url) as connection:
        configuration = alembic_configuration()
        configuration.attributes["connection"] = connection
        command.check(configuration)


def test_points_are_added_up_as_on_sqlite(server: Engine) -> None:
    with open_session(server) as session:
        for policy in gradebook.POLICIES:
            gradebook.test_the_gradebook_adds_up_what_the_rules_say_of_each_answer(session, policy)
        gradebook.test_points_by_hand(session)


def test_scores_leave_as_on_sqlite(server: Engine, loop: asyncio.AbstractEventLoop) -> None:
    with fake_platform() as platform:

        def course(people: int) -> outbox.Course:
            return outbox.course_of(server, platform, loop, people, Policy())

        outbox.test_two_servers_send_each_score_once(server, platform, course)
        outbox.test_a_link_without_a_place_for_grades_says_what_to_do(server, platform, course)


def test_identities_are_stored_as_on_sqlite(server: Engine) -> None:
    identities.test_of_several_first_sign_ins_at_once_one_person_is_made(server)
    identities.test_an_identity_of_another_person_is_never_taken_over(server)


def test_progress_is_merged_as_on_sqlite(server: Engine) -> None:
    merging.test_the_same_file_sent_by_several_at_once_is_taken_once(server)
    rows = merging.personal(*merging.many(301))
    assert merge(server, "l", rows) == MergeResult(added=1, known=303)


def test_a_roster_is_taken_once_as_on_sqlite(server: Engine) -> None:
    rosters.test_a_roster_that_is_sent_twice_at_once_is_taken_once(server)


def test_changes_of_an_assignment_take_turns_as_on_sqlite(server: Engine) -> None:
    changes_are_not_lost(server)


def test_rows_are_stored_in_order(server: Engine) -> None:
    async def write() -> None:
        writer = Writer(server)
        writer.start()
        await asyncio.gather(*(writer.put(attempt(answer=str(n))) for n in range(300)))
        await writer.close()

    asyncio.run(write())
    with open_session(server) as session:
        rows = StoredRecords(session, "l").latest_attempts(limit=1000)
    assert [row.answer for row in rows] == [str(n) for n in range(300)][::-1]
    assert rows[0].at == NOON


def test_a_bad_row_does_not_sink_its_neighbors(server: Engine) -> None:
    with server.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE attempt ADD CONSTRAINT picky CHECK (answer <> 'bad')")
    kept = store(server, [attempt(answer=answer) for answer in ("good", "bad", "fine")])
    assert [type(refusal) for refusal in kept] == [type(None), ValueError, type(None)]
    with server.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE attempt DROP CONSTRAINT picky")


def test_queries_give_the_same_results(server: Engine) -> None:
    store(server, [attempt(), attempt(correct=True, hints=1), attempt(exercise="c", correct=True)])
    for number in (1, 1, 0):
        store(server, [Reveal(learner="l", exercise="a/b", seed=7, number=number)])
    with open_session(server) as session:
        known = StoredRecords(session, "l").standings()
        assert {n: (s.tried, s.solved, s.unaided) for n, s in known.items()} == {
            "a/b": (2, True, False),
            "c": (1, True, True),
        }
        assert known["c"].last == NOON
        seen = reveals_of(session.connection(), ["l"], ["a/b"], [7])
        assert seen == {("l", "a/b", 7): RevealedParts(1, True)}
        assert StoredRecords(session, "l").attempts_by_day(date(2026, 3, 1)) == {date(2026, 3, 1): 3}
        assert len(collect_everything(session, "l")["attempts"]) == 3
        secret = create_token(session, "marie")
    assert Tokens(server).grant(secret) == Grant("marie")
    probe(server)


def test_an_unreachable_server_is_reported() -> None:
    gone = connect("postgresql+psycopg://wallclock@/postgres?host=/nowhere")
    with pytest.raises(UnavailableError, match="cannot be reached"):
        probe(gone)
    gone.dispose()


def test_a_server_goes_on_as_soon_as_the_database_has_recovered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "WAIT", HANGS)  # on a busy machine, it recovers slowly
    with cluster() as url:
        migrate(url)
        engine = connect(url)
        with engine.connect() as connection:
            backend = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            os.kill(backend, signal.SIGKILL)  # PostgreSQL then closes every connection
            with pytest.raises(OperationalError):
                connection.exec_driver_sql("SELECT pg_sleep(5)")
            connection.invalidate()
        # Until PostgreSQL has seen it, it still takes connections that it then closes.
        with suppress(UnavailableError):
            probe(engine)
        probe(engine)
        engine.dispose()


def rename(database: str, learner: str) -> None:
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as rows:
        rows.execute("UPDATE attempt SET learner = ? WHERE id = 1", [learner])
        rows.commit()


def test_rows_move_to_it_and_back_with_a_backup_between(tmp_path: Path) -> None:
    here, back = (f"sqlite:///{tmp_path / name}.db" for name in ("here", "back"))
    fill(here)
    rename(here, "l" * 300)  # SQLite enforces no length
    with cluster() as url:
        with pytest.raises(UnavailableError, match="'attempt' cannot be stored there, so nothing"):
            move(here, url, "")
        with snapshot(url) as there:
            assert row_count(there) == 0
        rename(here, "l")
        assert move(here, url, "")
        assert content_of(here) == content_of(url)
        engine = connect(url)
        backup(url, tmp_path / "copy.db")
        store(engine, [attempt(answer="after the move", at=now())])  # its number is not taken
        with open_session(engine) as session:
            assert StoredRecords(session, "l").latest_attempts(1)[0].answer == "after the move"
            with pytest.raises(UnavailableError, match="a server is using the database"):
                move(url, back, "")
        engine.dispose()
        move(url, back, "")
        assert content_of(back) == content_of(url)
        restore(tmp_path / "copy.db", url, "", replace=True)
        assert content_of(url) == content_of(here)


@pytest.mark.parametrize(
    "proof",
    [
        queue.test_many_servers_claim_each_run_once_and_never_two_for_the_same_devices,
        queue.test_runs_take_turns_on_their_devices,
        queue.test_the_runs_of_a_dead_server_are_adopted_by_one_other,
    ],
)
def test_the_queue_of_labs_is_the_same(server: Engine, proof: Callable[[Engine], None]) -> None:
    with server.begin() as connection:
        connection.execute(delete(LabRunRow))
    proof(server)


@pytest.mark.parametrize(
    "proof",
    [
        secret.test_servers_that_start_at_once_agree_on_one_secret,
        secret.test_a_given_secret_is_stored_only_as_a_digest,
        secret.test_servers_that_would_sign_differently_are_refused,
    ],
)
def test_the_secret_is_one_for_all_servers(server: Engine, proof: Callable[[Engine], None]) -> None:
    proof(server)
    secret.forget(server)


@pytest.mark.parametrize(
    "proof",
    [
        retries.test_of_many_at_once_one_is_stored,
        retries.test_a_taken_key_does_not_sink_its_neighbors,
        retries.test_a_key_is_forgotten_after_a_day,
    ],
)
def test_a_retry_is_one_attempt(server: Engine, proof: Callable[[Engine], None]) -> None:
    with server.begin() as connection:
        connection.execute(delete(ReplayRow))
    proof(server)


def test_persons_join_claim_and_leave_as_on_sqlite(server: Engine) -> None:
    persons.test_a_claim_moves_what_the_person_does_not_have(server)
    persons.test_many_join_at_once_and_every_code_is_of_one(server)
    persons.test_what_an_assignment_says_and_what_stays_of_a_person(server)
    together.test_what_is_read_together_is_what_each_would_read(server)
    together.test_the_past_after_an_answer_is_what_is_read_after_it(server, correct=True)
