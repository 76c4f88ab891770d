from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import Engine, func, select, update
from sqlmodel import col

from app.server.db.lab_runs import (
    REPORT_LIMIT,
    Progress,
    QueueFullError,
    adopt,
    ahead_of,
    claim_run,
    counted_runs,
    enqueue,
    finished_runs,
    keep_sent,
    lab_run,
    queue_share,
    record_progress,
    report_text,
    request_cancel,
)
from app.server.db.run_state import RunState
from app.server.db.session import open_session
from app.server.db.tables import LabRunRow, now
from tests.db.queue import run

DONE = Progress(state=RunState.DONE)


def state(engine: Engine, name: str) -> tuple[str, str]:
    row = lab_run(engine, name)
    assert row
    return row.state, row.worker


def test_runs_take_turns_on_their_devices(engine: Engine) -> None:
    rows = [run(learner=f"l{n}") for n in range(3)]
    gpu = run(learner="g", pool="here:gpu")
    names = [row.name for row in (*rows, gpu)]
    for row in (*rows, gpu):
        enqueue(engine, row, most=9)
    with open_session(engine) as session:
        waiting = [lab_run(engine, name) for name in names]
        assert [ahead_of(session, row) for row in waiting if row] == [0, 1, 2, 0]
    first, other = claim_run(engine, "here", "a"), claim_run(engine, "here", "b")
    assert first
    assert other
    assert [first.name, other.name] == [names[0], names[3]]
    assert claim_run(engine, "here", "a") is None  # the processors are taken, and so are the GPUs
    assert record_progress(engine, names[0], "a", DONE) is False
    second = claim_run(engine, "here", "b")
    assert second
    assert second.name == names[1]
    assert claim_run(engine, "elsewhere", "c") is None


def test_many_servers_claim_each_run_once_and_never_two_for_the_same_devices(engine: Engine) -> None:
    count = 40
    for n in range(count):
        enqueue(engine, run(learner=f"l{n}", pool=f"here:{n % 4}"), most=count)
    claimed: Counter[str] = Counter()
    faults: list[object] = []

    def work(worker: str) -> None:
        while len(claimed) < count and not faults:
            row = claim_run(engine, "here", worker)
            if row is None:
                continue
            claimed[row.name] += 1
            same = col(LabRunRow.state) == "running", col(LabRunRow.pool) == row.pool
            with open_session(engine) as session:
                going = session.scalar(select(func.count()).where(*same))
            if going != 1:
                faults.append(going)
            record_progress(engine, row.name, worker, DONE)

    def guarded(worker: str) -> None:
        try:
            work(worker)
        except Exception as error:  # the others would wait for its run forever
            faults.append(error)
            raise

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(guarded, f"w{n}") for n in range(4)]
    assert [future.exception() for future in done] == [None] * 4
    assert not faults
    assert set(claimed.values()) == {1}
    assert len(claimed) == count


def test_a_full_queue_and_a_greedy_learner_are_refused(engine: Engine) -> None:
    for n in range(2):
        enqueue(engine, run(learner=f"l{n}"), most=2)
    with pytest.raises(QueueFullError, match="2 runs are in the queue already"):
        enqueue(engine, run(learner="z"), most=2)
    for _ in range(2):
        enqueue(engine, run(learner="l0"), most=9)
    with pytest.raises(QueueFullError, match="3 of your runs are in the queue already"):
        enqueue(engine, run(learner="l0"), most=9)


def test_one_address_takes_half_of_the_queue_at_most(engine: Engine) -> None:
    nearby = []
    for n in range(3):
        row = run(learner=f"stranger {n}")
        nearby.append(row.name)
        enqueue(engine, row, most=6, nearby=nearby[:-1])
    with pytest.raises(QueueFullError, match="half of the queue is taken by runs from your"):
        enqueue(engine, run(learner="stranger 3"), most=6, nearby=nearby)
    enqueue(engine, run(learner="elsewhere"), most=6)
    assert claim_run(engine, "here", "a")
    assert record_progress(engine, nearby[0], "a", DONE) is False
    enqueue(engine, run(learner="stranger 4"), most=6, nearby=nearby)


def test_a_queued_run_is_canceled_at_once_and_a_running_one_is_asked_to_stop(engine: Engine) -> None:
    rows = [run(), run()]
    names = [row.name for row in rows]
    for row in rows:
        enqueue(engine, row, most=9)
    assert claim_run(engine, "here", "a")
    for name in names:
        request_cancel(engine, name)
    assert state(engine, names[1]) == ("cancelled", "")
    assert state(engine, names[0]) == ("running", "a")
    assert record_progress(engine, names[0], "a") is True
    assert claim_run(engine, "here", "a") is None


def test_the_runs_of_a_dead_server_are_adopted_by_one_other(engine: Engine) -> None:
    row = run()
    name = row.name
    enqueue(engine, row, most=9)
    claim_run(engine, "here", "dead")
    assert not adopt(engine, "here", "a", silent=10)  # it was followed just now
    with engine.begin() as connection:
        connection.execute(update(LabRunRow).values(beat=now() - timedelta(seconds=11)))
    assert not adopt(engine, "elsewhere", "a", silent=10)
    assert [row.name for row in adopt(engine, "here", "a", silent=10)] == [name]
    assert not adopt(engine, "here", "b", silent=10)
    assert record_progress(engine, name, "dead", DONE) is None
    assert state(engine, name) == ("running", "a")


def test_runs_that_are_sent_in_are_limited(engine: Engine) -> None:
    for _ in range(50):
        keep_sent(engine, run(host="sent in", state="done"))
    with pytest.raises(QueueFullError, match="already sent in 50 runs"):
        keep_sent(engine, run(host="sent in", state="done"))
    with open_session(engine) as session:
        assert len(finished_runs(session, "ring-bytes")) == 50
    keep_sent(engine, run(host="sent in", state="done", learner="other"))


def test_what_was_measured_here_takes_no_place_of_what_is_sent_in(engine: Engine) -> None:
    with open_session(engine) as session:
        session.add_all(run(state="done") for _ in range(50))
        session.commit()
    keep_sent(engine, run(host="sent in", state="done"))


def test_the_queue_of_another_machine_is_another_queue(engine: Engine) -> None:
    for n in range(2):
        enqueue(engine, run(learner=f"l{n}", host="there", pool="there:cpu"), most=2)
    assert claim_run(engine, "here", "a") is None
    enqueue(engine, run(), most=1)
    assert claim_run(engine, "here", "a")


def test_a_queue_of_one_has_a_place_for_every_address() -> None:
    assert [queue_share(most) for most in (1, 2, 3, 4)] == [1, 1, 1, 2]


def test_no_server_adopts_its_own_run_or_one_with_news(engine: Engine) -> None:
    row = run()
    name = row.name
    enqueue(engine, row, most=9)
    claim_run(engine, "here", "a")

    def grow_silent() -> None:
        with engine.begin() as connection:
            connection.execute(update(LabRunRow).values(beat=now() - timedelta(seconds=11)))

    grow_silent()
    assert not adopt(engine, "here", "a", silent=10), "it would follow it twice"
    for news in (None, Progress(says="halfway")):
        grow_silent()
        record_progress(engine, name, "a", news)
        assert not adopt(engine, "here", "b", silent=10)


def test_runs_are_listed_and_counted_once_they_are_done(engine: Engine) -> None:
    rows = [
        run(host="sent in", state="done"), run(state="done", learner="m"), run(state="failed"), run(), run(state="done"),
        run(lab="alpha-beta", state="done"),
    ]  # fmt: skip
    names = [row.name for row in rows]
    with open_session(engine) as session:
        session.add_all(rows)
        session.commit()
        listed = [row.name for row in finished_runs(session, "ring-bytes")]
        assert listed == [names[4], names[1], names[0]], "the newest first, and those of other machines last"
        assert counted_runs(session) == {"ring-bytes": 3, "alpha-beta": 1}
        assert counted_runs(session, "m") == {"ring-bytes": 1}


def test_a_state_is_stored_as_it_was_at_first_and_spelled_as_people_do() -> None:
    assert [RunState.CANCELED.value, RunState.CANCELED.word, RunState.DONE.word] == ["cancelled", "canceled", "done"]


def test_a_report_of_the_largest_length_is_read(engine: Engine) -> None:
    longest, longer = run(report="x" * REPORT_LIMIT), run(report="x" * (REPORT_LIMIT + 1))
    names = [longest.name, longer.name]
    with open_session(engine) as session:
        session.add_all([longest, longer])
        session.commit()
    assert [len(report_text(engine, name)) for name in names] == [REPORT_LIMIT, 0]
    assert report_text(engine, "no run") == ""
