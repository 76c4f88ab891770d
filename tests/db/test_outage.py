"""PostgreSQL goes away, for a moment or for long; collected only if it is installed."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, delete, event, select
from sqlmodel import col

from app.core.errors import UnavailableError
from app.main import create_app
from app.server.config import Settings
from app.server.db import session
from app.server.db.learner_cookie import sign
from app.server.db.migrations import migrate, probe
from app.server.db.replays import ReplayedAttempt
from app.server.db.session import connect, open_session, outage_of
from app.server.db.tables import AttemptRow, Replay, ReplayRow, Reveal, RevealRow
from app.server.db.writer import NewRow, store
from app.site import Site
from tests.client import Client
from tests.db.postgresql import Cluster, running
from tests.db.test_rows import attempt
from tests.waiting import HANGS, wait_until

pytestmark = [pytest.mark.slow(15), pytest.mark.needs("postgresql")]
EXERCISE = "/exercises/collectives/ring-all-reduce-time"
SAYS = "the database cannot be reached"


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with running() as made:
        migrate(made.url)
        yield made


@pytest.fixture
def engine(server: Cluster) -> Iterator[Engine]:
    made = connect(server.url)
    with made.begin() as connection:
        for table in (AttemptRow, RevealRow, ReplayRow):
            connection.execute(delete(table))
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def visitor(server: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    runs: Path = tmp_path_factory.mktemp("runs")
    settings = Settings(database=server.url, runs=runs, sandbox_workers=1, answers_allowed=0)
    with Client(create_app(settings), follow_redirects=False) as client:
        yield client


def answers(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return sorted(connection.execute(select(col(AttemptRow.answer))).scalars())


def site_of(visitor: TestClient) -> Site:
    site = visitor.app.state.site  # type: ignore[attr-defined]
    assert isinstance(site, Site)
    return site


def cookie(visitor: TestClient, learner: str) -> dict[str, str]:
    """That of a learner who has been here."""
    return {"Cookie": f"learner={sign(learner, site_of(visitor).secret)}"}


def answered(visitor: TestClient, name: str) -> tuple[int, str]:
    """The status and the page of the answer *name*, of a learner of its own."""
    headers = {**cookie(visitor, name), "X-Fragment": "1"}
    page = visitor.post(EXERCISE, data={"answer": f"{name} days"}, headers=headers)
    return page.status_code, page.text


def visited(visitor: TestClient, learner: str) -> int:
    """The status of the home page."""
    return visitor.get("/", headers=cookie(visitor, learner)).status_code


def test_every_answer_is_stored_once_while_the_database_crashes_twice(
    visitor: TestClient, server: Cluster, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "WAIT", HANGS)  # on a busy machine, it recovers slowly
    over = threading.Event()
    answered(visitor, "10001")  # reads what is read once
    sent = ["10001 days"]

    def student(first: int) -> None:
        for number in range(first, 10_000, 6):
            if over.is_set():
                break
            status, page = answered(visitor, str(number))
            assert (status, "incorrect" in page) == (200, True), page
            sent.append(f"{number} days")

    with ThreadPoolExecutor(6) as pool:
        students = [pool.submit(student, first) for first in range(6)]
        try:
            for crashes in range(3):
                enough = len(sent) + 6
                wait_until(lambda enough=enough: len(sent) >= enough)  # type: ignore[misc]
                if crashes < 2:
                    server.crash()
        finally:
            over.set()
        for one in students:
            one.result()
    probe(engine)
    assert Counter(answers(engine)) == Counter(sent)


def test_a_long_outage_refuses_after_a_while_and_then_at_once(
    visitor: TestClient, server: Cluster, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "WAIT", 10 * HANGS)
    assert answered(visitor, "1")[0] == 200
    server.stop()
    try:
        with ThreadPoolExecutor(60) as pool:
            waiting = [pool.submit(lambda: answered(visitor, "2")[0]) for _ in range(30)]
            wait_until(lambda: outage_of(site_of(visitor).engine).is_on)
            waiting += [pool.submit(lambda: visited(visitor, "2")) for _ in range(30)]
            assert visitor.get("/livez").status_code == 200
            ready = visitor.get("/readyz")
            assert (ready.status_code, SAYS in ready.json()["detail"]) == (503, True)
            assert not all(one.done() for one in waiting)
            monkeypatch.setattr(session, "WAIT", 0.0)
            assert {one.result(HANGS) for one in waiting} == {503}
            monkeypatch.setattr(session, "_AGAIN", 60 * HANGS)  # whoever waited would wait so long
            late = [pool.submit(answered, visitor, "2") for _ in range(5)]
            for status, page in (one.result(HANGS) for one in late):
                assert (status, SAYS.capitalize() in page) == (503, True)
    finally:
        server.start()
    wait_until(lambda: answered(visitor, "3")[0] == 200)
    assert answers(engine) == ["1 days", "3 days"]


def tries_of(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows by one with each try of *engine* to connect."""
    tries, connect_it = list[None](), engine.dialect.connect

    def counted(*given: Any, **named: Any) -> Any:
        tries.append(None)
        return connect_it(*given, **named)

    monkeypatch.setattr(engine.dialect, "connect", counted)
    return tries


def refused(engine: Engine) -> None:
    with pytest.raises(UnavailableError, match=SAYS):
        probe(engine)


def test_of_a_server_that_does_not_answer_one_waits_and_the_next_does_not(
    server: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_LOOK", HANGS)
    engine = connect(server.url, patience=0.1)
    probe(engine)
    engine.dispose()
    tries = tries_of(engine, monkeypatch)
    with server.stuck():
        refused(engine)
        before = len(tries)
        assert before > 0
        refused(engine)
        assert len(tries) == before
    engine.dispose()


def test_a_wrong_address_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = connect("postgresql+psycopg://wallclock@/postgres?host=/nowhere")
    tries = tries_of(engine, monkeypatch)
    refused(engine)
    assert len(tries) == 1
    engine.dispose()


def losing(engine: Engine, *, after: bool) -> list[Connection]:
    """Let *engine* lose its connection at its next commit, *after* or before it."""
    lost: list[Connection] = []

    def lose(connection: Connection) -> None:
        if not lost:
            lost.append(connection)
            if after:
                connection.connection.commit()
            connection.connection.dbapi_connection.close()  # type: ignore[union-attr]

    event.listen(engine, "commit", lose)
    return lost


@pytest.mark.parametrize("after", [False, True])
def test_rows_whose_commit_was_not_acknowledged_are_stored_once(engine: Engine, *, after: bool) -> None:
    replay = Replay(learner="k", key="key", digest="d", verdict="{}")
    rows: list[NewRow] = [
        attempt(answer="a"),
        attempt(answer="b"),
        Reveal(learner="l", exercise="a/b", seed=0, number=1),
        ReplayedAttempt(attempt(answer="once"), replay),
        ReplayedAttempt(None, Replay(learner="k", key="two", digest="d", verdict="{}")),
    ]
    lost = losing(engine, after=after)
    assert store(engine, rows) == [None] * len(rows)
    assert lost
    assert answers(engine) == ["a", "b", "once"]
    with engine.connect() as connection:
        assert len(connection.execute(select(col(ReplayRow.id))).all()) == 2
        assert len(connection.execute(select(col(RevealRow.id))).all()) == 1


def test_of_a_commit_that_arrived_only_what_was_refused_is_refused(engine: Engine) -> None:
    known = Replay(learner="k", key="key", digest="d", verdict="{}")
    store(engine, [ReplayedAttempt(None, known)])
    lost = losing(engine, after=True)
    again = Replay(learner="k", key="key", digest="e", verdict="{}")
    other = ReplayedAttempt(attempt(answer="other"), again)
    first, second = store(engine, [attempt(answer="a"), other])
    assert lost
    assert (first, type(second).__name__) == (None, "KeyTakenError")
    assert answers(engine) == ["a"]


def test_what_was_read_is_not_refused_because_the_connection_is_lost_later(engine: Engine) -> None:
    with open_session(engine) as session:
        connection = session.connection()
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
        connection.connection.dbapi_connection.close()  # type: ignore[union-attr]
    assert answers(engine) == []
    assert engine.pool.status().endswith("Current Checked out connections: 0")
