"""What strangers send is read in a process that has little time and memory, and that nobody misses."""

import asyncio
import json
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.core.errors import InputError
from app.core.formulas.configurations import model_fields
from app.server.aside import RequestAccount, Seats, aside, child_process, on_account
from app.server.aside.child_process import MEMORY, ReadingChildren, read_apart
from app.server.aside.payer import Payer
from tests.each import each

NEVER = re.compile("(x+x+)+y"), "x" * 40  # of an example; the patterns of the app are linear


@pytest.fixture(scope="module")
def one() -> Iterator[ReadingChildren]:
    """One process: what it does shows in the next piece of work."""
    children = ReadingChildren(1)
    yield children
    children.close()


def fill(size: int) -> int:
    return len(b"x" * size)


def match_never(children: ReadingChildren, seconds: float = 0.3) -> None:
    with pytest.raises(InputError, match=rf"longer than {seconds:g} s of processor time: leave out"):
        children.run(seconds, re.match, *NEVER)


def test_results_and_errors_come_back(one: ReadingChildren) -> None:
    assert one.run(2, json.loads, '{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}
    with pytest.raises(json.JSONDecodeError, match="line 2"):
        one.run(2, json.loads, "{\n!")
    with pytest.raises(ValueError, match="num_hidden_layers") as error:
        read_apart(model_fields, '{"a": 1}')
    assert getattr(error.value.args[0], "form", "").startswith("the configuration has no model")  # can be translated


def test_what_holds_the_lock_of_the_interpreter_is_ended_and_holds_nobody_up(one: ReadingChildren) -> None:
    async def tried() -> float:
        work = asyncio.create_task(asyncio.to_thread(match_never, one, 0.5))
        latest = 0.0
        while not work.done():
            begin = time.thread_time()
            await asyncio.sleep(0.01)
            latest = max(latest, time.thread_time() - begin)
        await work
        return latest

    assert asyncio.run(tried()) < 0.2
    assert one.run(2, len, "ready again") == 11


@each(
    ("work", "given", "says"),
    [
        (bytearray, (MEMORY,), "more than 512 MiB of memory"),
        (signal.raise_signal, (signal.SIGKILL,), "more than 512 MiB of memory"),  # as the system does
        (divmod, (1, 0), "damaged in a way that no reader expects"),
        (sys.exit, (1,), "more than 512 MiB of memory"),
    ],
)
def test_a_process_that_dies_is_one_sentence_and_another_one_is_there(
    one: ReadingChildren, work: Callable[..., object], given: tuple[object, ...], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        one.run(2, work, *given)
    assert one.run(2, len, "ready again") == 11


def test_a_fault_of_ours_is_in_the_log_with_its_place(one: ReadingChildren, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(InputError):
        one.run(2, divmod, 1, 0)
    assert "divmod failed in a process of its own" in caplog.text
    assert "child_process.py" in caplog.text


def test_a_process_that_only_waits_is_ended_by_the_clock(monkeypatch: pytest.MonkeyPatch, one: ReadingChildren) -> None:
    monkeypatch.setattr(child_process, "_LEAST_PATIENCE", 0.2)
    with pytest.raises(InputError, match="took longer"):
        one.run(0.01, time.sleep, 600)
    monkeypatch.undo()
    assert one.run(2, len, "ready again") == 11


def test_one_that_the_system_killed_is_replaced(one: ReadingChildren) -> None:
    leader = one.run(2, os.getsid, 0)
    os.killpg(leader, signal.SIGKILL)
    with pytest.raises(InputError):
        one.run(2, re.match, *NEVER)
    assert one.run(2, os.getsid, 0) not in (leader, os.getsid(0))


def test_one_process_does_one_piece_of_work_after_another(one: ReadingChildren) -> None:
    first = one.run(2, os.getpid)
    assert one.run(2, os.getpid) == first
    assert one.run(2, fill, 300 << 20) == 300 << 20
    assert one.run(2, os.getpid) != first  # what it has used is free again


def test_it_leaves_the_processor_to_pages_and_knows_no_secret(
    one: ReadingChildren, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLCLOCK_SECRET", "no")
    children = ReadingChildren(1)
    assert children.run(2, os.nice, 0) == min(os.nice(0) + 10, 19)
    assert children.run(2, os.getenv, "WALLCLOCK_SECRET") is None
    children.close()


def test_its_processor_time_is_charged_to_the_request(one: ReadingChildren) -> None:
    async def spent(work: Callable[[], object]) -> float:
        account = RequestAccount(Payer("192.0.2.9"), Seats())
        await on_account(account, aside(work))
        return account.spent

    assert asyncio.run(spent(lambda: one.run(2, sum, range(5_000_000)))) > 0.02
    assert asyncio.run(spent(lambda: match_never(one))) >= 0.3


def test_the_limit_begins_anew_with_each_piece_of_work(one: ReadingChildren) -> None:
    for _ in range(6):
        one.run(0.3, sum, range(3_000_000))


def test_a_process_ends_with_its_server(tmp_path: Path) -> None:
    children = ReadingChildren(1)
    leader = children.run(2, os.getsid, 0)
    children.close()
    with pytest.raises(ProcessLookupError):
        os.kill(leader, 0)
    assert children.run(2, os.getsid, 0) != leader
    children.close()


def test_a_fork_of_the_server_has_a_process_of_its_own(one: ReadingChildren) -> None:
    def worker_of() -> int:
        return one.run(2, os.getpid)

    before = worker_of()
    reading, writing = os.pipe()
    if not (fork := os.fork()):
        os.write(writing, str(worker_of()).encode())
        one.close()
        os._exit(0)
    os.waitpid(fork, 0)
    os.close(writing)
    with os.fdopen(reading) as said:
        assert int(said.read()) != before
    assert worker_of() == before
