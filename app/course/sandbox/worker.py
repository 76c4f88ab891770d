"""A worker process: each submission runs in a fresh instance of the component, then discarded.

    python -I -S -B worker.py COMPONENT MEMORY LOCK PATH...

A frame on stdin and stdout is a length of four bytes, then JSON. The first frame on stdout says how
the process is locked down. Standard library and wasmtime only, to keep a worker small.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

TICK = 0.01  # seconds between readings of the clock
LARGEST = 1 << 20  # bytes of a frame
_MEGABYTE = 1 << 20
_REPLIES = 400_000  # characters of all replies of a submission
_LARGEST_FILE = 1 << 20  # beyond the number of any open file that is inherited
_NICENESS = 10  # pages have priority over learners' programs
_HOST_COPY = 96 * _MEGABYTE  # of a reply, which may be as large as the guest's whole memory
_WARM = {"source": "def f():\n    return 1\n", "entry": "f", "calls": [[]], "wall": 5.0}


class Worker:
    """Load the component once, and run each submission in an instance of it."""

    def __init__(self, component: str, megabytes: int) -> None:
        from engine import engine
        from wasmtime.component import Component, Linker

        self._engine = engine()
        self._component = Component.deserialize_file(self._engine, component)
        if list(self._component.type.imports(self._engine)):
            raise RuntimeError("the component imports something: it must import nothing")
        self._linker = Linker(self._engine)
        self._memory = megabytes * _MEGABYTE
        self._running = threading.Event()
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        """During a run, advance the engine's clock by the processor time of this process.

        So no program runs out of time because the machine is busy with something else, and a
        worker without a program costs nothing. A program cannot sleep: it has no imports.
        """
        while self._running.wait():
            due = time.process_time() + TICK
            while self._running.is_set():
                time.sleep(TICK)
                while time.process_time() >= due:
                    self._engine.increment_epoch()
                    due += TICK

    def run(self, request: dict[str, Any]) -> dict[str, object]:
        """The replies of the body and of each call, and why the run stopped early if it did."""
        from wasmtime import Store, Trap, WasmtimeError

        started, used = time.perf_counter(), time.process_time()
        replies: list[str] = []
        answer: dict[str, object] = {"replies": replies}
        store = Store(self._engine)
        store.set_limits(memory_size=self._memory, instances=64, tables=64, memories=8, table_elements=100_000)
        store.set_epoch_deadline(max(1, round(request["wall"] / TICK)))
        self._running.set()
        try:
            self._run(store, request, replies)
        except (_TooLargeError, MemoryError):
            answer["stopped"] = "too large"
        except (Trap, WasmtimeError, UnicodeError, ValueError) as error:
            answer["stopped"] = _reason(str(error))
        finally:
            self._running.clear()
        store.close()
        answer["seconds"] = time.perf_counter() - started
        answer["used"] = time.process_time() - used
        return answer

    def _run(self, store: Any, request: dict[str, Any], replies: list[str]) -> None:
        instance: Any = self._linker.instantiate(store, self._component)
        load, call = instance.get_func(store, "load"), instance.get_func(store, "call")
        program = {"source": request["source"], "entry": request["entry"]}
        _keep(replies, load(store, json.dumps(program)))
        if '\\"raised\\"' in replies[0][:20]:
            return
        for arguments in request["calls"]:
            _keep(replies, call(store, json.dumps(arguments)))


class _TooLargeError(Exception):
    """The replies of a submission are too large to pass on."""


def _keep(replies: list[str], reply: str) -> None:
    if sum(map(len, replies)) + len(reply) > _REPLIES:
        raise _TooLargeError
    replies.append(reply)


def _reason(error: str) -> str:
    if "interrupt" in error:
        return "time"
    if "stack" in error:
        return "stack"
    if "memory" in error.lower() and "out of bounds" not in error:
        return "memory"
    return "refused"


def _write(stream: BinaryIO, answer: object) -> None:
    frame = json.dumps(answer).encode()
    stream.write(len(frame).to_bytes(4, "big") + frame)
    stream.flush()


def _limit_memory(megabytes: int) -> None:
    """Limit this process to what it has now, the guest's memory, and room for one copy of it."""
    import resource

    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    lines = (line.split() for line in status.splitlines())
    data = next(int(words[1]) << 10 for words in lines if words[0] == "VmData:")
    limit = data + megabytes * _MEGABYTE + _HOST_COPY
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main(component: str, megabytes: str, lock: str) -> None:
    """Serve requests until stdin is closed."""
    os.closerange(3, _LARGEST_FILE)  # such as the server's listening socket
    worker = Worker(component, int(megabytes))
    # Everything is loaded and warm before the process locks itself down.
    worker.run(dict(_WARM))
    hello: dict[str, object] = {"pid": os.getpid(), "locked": False}
    if lock == "lock":
        from lockdown import lock_down

        os.nice(_NICENESS)
        _limit_memory(int(megabytes))
        hello |= {"locked": True, "landlock": lock_down(sys.stdout.fileno())}
    _write(sys.stdout.buffer, hello)
    requests = sys.stdin.buffer
    while len(head := requests.read(4)) == 4:  # noqa: PLR2004
        frame = requests.read(int.from_bytes(head, "big"))
        if not frame:
            break
        _write(sys.stdout.buffer, worker.run(json.loads(frame)))


if __name__ == "__main__":
    sys.path += [str(Path(__file__).resolve().parent), *sys.argv[4:]]
    main(*sys.argv[1:4])
