"""The queue of runs from the browser, with a launcher that does what the test says."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete
from sqlmodel import col

from app.core.errors import InputError, UnavailableError
from app.labs.launch.base import Launcher, write_run
from app.labs.machines.devices import NO_DEVICES, Devices
from app.labs.run import LabRun, RunOutcome
from app.labs.runner.events import CheckEvent, MeasureEvent, as_line
from app.labs.spec import LabJob
from app.server.config import Settings
from app.server.db.lab_runs import claim_run, enqueue, lab_run, request_cancel
from app.server.db.migrations import migrate
from app.server.db.run_state import RunState
from app.server.db.session import connect, open_writing_session
from app.server.db.tables import LabRunRow, now
from app.site.labs import queue
from app.site.labs.queue import Dispatcher
from tests.db.queue import run
from tests.each import each
from tests.waiting import wait_until


class HandLauncher(Launcher):
    """Writes what a run is to do; how it goes on is up to the test."""

    host = "here"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.says = ""
        self.error: Exception | None = None
        self.patience: list[float] = []
        self.asked: list[float | None] = []
        self.canceled: list[str] = []
        self.closed = 0

    def trouble(self) -> str:
        return self.says

    def devices(self, patience: float | None = None) -> Devices:
        self.asked.append(patience)
        return NO_DEVICES

    def pool_of(self, name: str, backend: str) -> str:
        return f"here:{backend}"

    def start(
        self, job: LabJob, backend: str = "gloo", patience: float = 1.0, name: str = "", notes: Sequence[str] = ()
    ) -> LabRun:
        self.patience.append(patience)
        if self.error:
            raise self.error
        return write_run(self.folder, job, backend, name, launcher="by hand", notes=notes)

    def cancel(self, run: LabRun) -> None:
        self.canceled.append(run.id)

    def close(self) -> None:
        self.closed += 1
        for path in self.folder.glob("*/job.json"):
            if self.ends_with_us and not LabRun(path.parent).has_ended:
                LabRun(path.parent).write_outcome(RunOutcome(RunState.CANCELED, "the server stopped"))


@pytest.fixture(scope="module")
def _opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    database = f"sqlite:///{tmp_path_factory.mktemp('queue') / 'w.db'}"
    migrate(database)
    made = connect(database)
    yield made
    made.dispose()


@pytest.fixture
def engine(_opened: Engine) -> Engine:
    """A database without runs."""
    with open_writing_session(_opened) as session:
        session.connection().execute(delete(LabRunRow))
        session.commit()
    return _opened


def made(engine: Engine, folder: Path, **more: Any) -> tuple[Dispatcher, HandLauncher]:
    dispatcher = Dispatcher(Settings(runs=folder, **more), engine, beat=0.4, silent=60.0)
    launcher = HandLauncher(folder)
    dispatcher.launcher = launcher
    return dispatcher, launcher


@contextmanager
def serving(engine: Engine, folder: Path) -> Iterator[tuple[Dispatcher, HandLauncher]]:
    dispatcher, launcher = made(engine, folder)
    dispatcher.start()
    try:
        yield dispatcher, launcher
    finally:
        dispatcher.close()


def row_of(engine: Engine, name: str) -> LabRunRow:
    row = lab_run(engine, name)
    assert row
    return row


def ask(engine: Engine, dispatcher: Dispatcher, **changes: Any) -> LabRun:
    """A run that is under way."""
    row = run(**changes)
    name = row.name
    row.pool = changes.get("pool", f"here:{name}")  # that of a run that is not over is taken
    enqueue(engine, row, 20)
    dispatcher.wake()
    wait_until(lambda: row_of(engine, name).state != RunState.QUEUED)
    return LabRun(dispatcher.launcher.folder / name)


def until_state(engine: Engine, name: str, state: RunState) -> LabRunRow:
    wait_until(lambda: row_of(engine, name).state == state)
    return row_of(engine, name)


def test_a_run_is_started_followed_and_stored_as_it_ends(engine: Engine, tmp_path: Path) -> None:
    with serving(engine, tmp_path) as (dispatcher, launcher):
        going = ask(engine, dispatcher)
        wait_until(lambda: going.has_begun)
        assert launcher.patience == [600.0], "seconds that a run waits for devices"
        assert (going.job.lab, going.job.backend) == ("ring-bytes", "gloo")
        assert row_of(engine, going.id).state == RunState.RUNNING
        events = [CheckEvent(at=1.0, name="sums", right=True)]
        events += [MeasureEvent(at=1.0, name="sent", where={"size": 1024.0}, samples=(7.0,))]  # type: ignore[list-item]
        (going.folder / "events.jsonl").write_text("".join(map(as_line, events)))
        (going.folder / "rank0.log").write_text("printed")
        going.write_outcome(RunOutcome(RunState.DONE))
        row = until_state(engine, going.id, RunState.DONE)
        assert '"sums"' in row.report
        assert row.log == "", "what a run that went well has printed interests nobody"


@each("state", [RunState.FAILED, RunState.TIMEOUT])
def test_a_run_that_fails_keeps_its_cause_and_the_end_of_what_it_printed(
    engine: Engine, tmp_path: Path, state: RunState
) -> None:
    with serving(engine, tmp_path) as (dispatcher, _):
        going = ask(engine, dispatcher)
        wait_until(lambda: going.has_begun)
        for rank in (0, 1):
            (going.folder / f"rank{rank}.log").write_text(f"{rank}" * 19_990)
        going.write_outcome(RunOutcome(state, "why it failed"))
        row = until_state(engine, going.id, state)
        assert row.says == "why it failed"
        assert len(row.log) == 20_000
        assert row.log.endswith("1" * 19_990)


@each(
    ("error", "says"),
    [
        (InputError("too many ranks"), "too many ranks"),
        (RuntimeError("a secret detail"), "it could not be started because of a bug, which the server has logged"),
    ],
)
def test_a_run_that_cannot_be_started_fails_and_the_queue_goes_on(
    engine: Engine, tmp_path: Path, error: Exception, says: str
) -> None:
    with serving(engine, tmp_path) as (dispatcher, launcher):
        launcher.error = error
        failed = ask(engine, dispatcher)
        assert until_state(engine, failed.id, RunState.FAILED).says == says
        launcher.error = None
        assert until_state(engine, ask(engine, dispatcher).id, RunState.RUNNING)


def test_a_run_whose_files_cannot_be_read_fails(engine: Engine, tmp_path: Path) -> None:
    with serving(engine, tmp_path) as (dispatcher, _):
        going = ask(engine, dispatcher)
        wait_until(lambda: going.has_begun)
        (going.folder / "events.jsonl").write_text('{"kind": "strange", "at": 1}\n')
        row = until_state(engine, going.id, RunState.FAILED)
        assert row.says == "its files could not be read because of a bug, which the server has logged"


def test_a_run_is_canceled_once_when_that_is_requested_or_when_it_is_deleted(engine: Engine, tmp_path: Path) -> None:
    with serving(engine, tmp_path) as (dispatcher, launcher):
        first, second = ask(engine, dispatcher, pool="a"), ask(engine, dispatcher, pool="b")
        wait_until(lambda: first.has_begun and second.has_begun)
        request_cancel(engine, first.id)
        wait_until(lambda: launcher.canceled)
        with open_writing_session(engine) as session:
            session.connection().execute(delete(LabRunRow).where(col(LabRunRow.name) == second.id))
            session.commit()
        wait_until(lambda: len(launcher.canceled) == 2)
        first.write_outcome(RunOutcome(RunState.CANCELED))
        until_state(engine, first.id, RunState.CANCELED)
        assert launcher.canceled == [first.id, second.id]


def test_what_a_dead_server_left_is_taken_over_and_what_a_living_one_follows_is_not(
    engine: Engine, tmp_path: Path
) -> None:
    rows = [run(pool=pool) for pool in ("a", "b")]
    names = [row.name for row in rows]
    for row, age in zip(rows, (61, 50), strict=True):
        enqueue(engine, row, 20)
        claimed = claim_run(engine, "here", "another")
        assert claimed
        with open_writing_session(engine) as session:
            claimed.beat = now() - timedelta(seconds=age)
            session.add(claimed)
            session.commit()
    with serving(engine, tmp_path) as (dispatcher, _):
        until_state(engine, names[0], RunState.LOST)
        assert [row_of(engine, name).worker == "another" for name in names] == [False, True]


def test_a_server_that_stops_records_how_its_runs_end(engine: Engine, tmp_path: Path) -> None:
    dispatcher, launcher = made(engine, tmp_path)
    dispatcher.start()
    going = ask(engine, dispatcher)
    wait_until(lambda: going.has_begun)
    dispatcher.close()
    assert launcher.closed == 1
    assert (row_of(engine, going.id).state, row_of(engine, going.id).says) == (RunState.CANCELED, "the server stopped")


def test_a_server_that_stops_leaves_runs_of_a_cluster_alone(engine: Engine, tmp_path: Path) -> None:
    dispatcher, launcher = made(engine, tmp_path)
    launcher.ends_with_us = False
    dispatcher.start()
    going = ask(engine, dispatcher)
    wait_until(lambda: going.has_begun)
    dispatcher.close()
    assert (row_of(engine, going.id).state, launcher.canceled) == (RunState.RUNNING, [])


def test_one_that_was_never_started_closes_its_launcher(engine: Engine, tmp_path: Path) -> None:
    dispatcher, launcher = made(engine, tmp_path)
    dispatcher.close()
    assert launcher.closed == 1


def test_the_process_with_torch_is_stopped_after_a_rest_once(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(engine, tmp_path) as (dispatcher, launcher):
        going = ask(engine, dispatcher)
        wait_until(lambda: going.has_begun)
        monkeypatch.setattr(queue, "_REST", 0.0)
        for _ in range(3):
            dispatcher.wake()
            dispatcher.runs_of("x")
        assert launcher.closed == 0, "a run is under way"
        going.write_outcome(RunOutcome(RunState.DONE))
        until_state(engine, going.id, RunState.DONE)
        wait_until(lambda: dispatcher.wake() or launcher.closed)  # type: ignore[func-returns-value]
        for _ in range(3):
            dispatcher.wake()
        assert launcher.closed == 1
    assert launcher.closed == 2


def test_where_nothing_can_run_no_gpu_is_looked_for(engine: Engine, tmp_path: Path) -> None:
    off, unasked = made(engine, tmp_path, lab_queue=0)
    assert off.trouble == "on this server, labs run from the command line only"
    dispatcher, launcher = made(engine, tmp_path, lab_queue=1)
    assert (off.most, dispatcher.most, dispatcher.trouble) == (0, 1, "")
    for one in (off, dispatcher):
        assert one.devices() is NO_DEVICES
    launcher.says = "torch is missing"
    assert dispatcher.trouble == "torch is missing"
    dispatcher.devices()
    assert (unasked.asked, launcher.asked) == ([], [3.0]), "a page waits for three seconds"


def test_the_runs_of_an_address_are_remembered_until_many_others_came(engine: Engine, tmp_path: Path) -> None:
    dispatcher, _ = made(engine, tmp_path)
    for number in range(101):
        dispatcher.runs_of("first").append(str(number))
    assert [*dispatcher.runs_of("first")] == [str(number) for number in range(1, 101)]
    for number in range(999):
        dispatcher.runs_of(f"other {number}").append("x")
    assert len(dispatcher.runs_of("first")) == 100, "it was used last"
    dispatcher.runs_of("one more")
    assert len(dispatcher.runs_of("other 1")) == 1
    assert len(dispatcher.runs_of("other 0")) == 0


def test_a_database_that_is_away_does_not_end_the_queue(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, failures = claim_run, [UnavailableError("the database is away"), KeyError("a bug")]

    def claim(*given: Any) -> LabRunRow | None:
        if failures:
            raise failures.pop(0)
        return real(*given)

    monkeypatch.setattr(queue, "claim_run", claim)
    with serving(engine, tmp_path) as (dispatcher, _):
        for _ in range(2):
            wait_until(lambda: dispatcher.wake() or not failures)  # type: ignore[func-returns-value]
        assert ask(engine, dispatcher)
    assert "the queue of labs: the database is away" in caplog.text
