"""Reads what strangers send in another process, which has little memory and time.

`re`, `int`, `json` and `sort` hold the interpreter's lock while they work: a thread beside the
event loop is beside nothing then, and cannot be ended. A process is, and can.

Run as a program, it imports the modules that are named and forks a worker, which does one piece of
work after another. When a worker dies of what it reads, the program says of what, and forks another.
"""

import atexit
import gc
import logging
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from queue import LifoQueue
from time import process_time
from traceback import format_exc
from typing import Any, TypeVar

from app.core.errors import AppError, InputError, input_error
from app.core.translation import translate
from app.server.aside import charge

SECONDS = 2.0  # of processor time, for a text
MEMORY = 512 << 20  # bytes
_AT_ONCE = 2  # more would only compete with each other
_PATIENCE, _LEAST_PATIENCE = 5, 30.0  # times the seconds, and seconds, by the clock of a busy machine
_NICENESS = 10  # as of what runs in the sandbox: pages come first
_KEPT = 200 << 10  # KiB that a worker may have used; one that used more is replaced, and its memory is free
_ROOT = Path(__file__).resolve().parents[3]
_DONE, _NO_MEMORY, _RENEWED = 0, 3, 4  # exit codes of a worker
_log = logging.getLogger(__name__)
T = TypeVar("T")


class ReadingChild:
    """A process that does one piece of work after another; the *modules* are imported at its start."""

    def __init__(self, modules: Iterable[str]) -> None:
        self._connection, far = Pipe()
        with far:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "app.server.aside.child_process", str(far.fileno()), *modules],
                env={"PYTHONPATH": os.fspath(_ROOT), "PATH": os.environ.get("PATH", "")},
                pass_fds=[far.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # it has its worker with it when it is killed
            )

    @property
    def is_alive(self) -> bool:
        """Whether it can be given work; not by a fork of its parent, whose child it is not."""
        return self._process.poll() is None

    def reply(self, seconds: float, work: Callable[..., T], given: tuple[object, ...]) -> T:
        """What *work* makes of what is *given*; its processor time is charged to the request.

        Raises:
            InputError: that takes more memory or time than is allowed, or fails in a way that nobody expects.
        """
        self._connection.send_bytes(pickle.dumps((seconds, work, given)))
        if not self._connection.poll(max(_PATIENCE * seconds, _LEAST_PATIENCE)):
            self.close()
            raise InputError(_too_long(seconds))
        used, result, error = self._connection.recv()
        charge(seconds if used is None else used)
        if isinstance(error, int):
            raise InputError(_too_long(seconds) if error == -signal.SIGPROF else _too_large())
        if error is not None and not isinstance(error, AppError | ValueError):
            _log.error("%s failed in a process of its own", work.__qualname__, exc_info=error)
            raise input_error("it cannot be read: it is damaged in a way that no reader expects")
        if error is not None:
            raise error
        found: T = result
        return found

    def close(self) -> None:
        """End it, whatever it does."""
        self._connection.close()
        if self.is_alive:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class ReadingChildren:
    """At most *count* processes, which are started when they are needed; others wait for one."""

    def __init__(self, count: int = _AT_ONCE, modules: Iterable[str] = ()) -> None:
        """The *modules* are those of the work, where it is not known by the first piece of it."""
        self._modules = set(modules)
        self._free: LifoQueue[ReadingChild | None] = LifoQueue()
        for _ in range(count):
            self._free.put(None)
        atexit.register(self.close)

    def prepare(self, *works: Callable[..., object]) -> None:
        """Start a process that is ready for *works*."""
        self._modules |= {work.__module__ for work in works}
        self._free.put(self._free.get() or ReadingChild(self._modules))

    def run(self, seconds: float, work: Callable[..., T], *args: object) -> T:
        """The result of *work* on *args*, in at most *seconds* of processor time.

        Raises:
            InputError: it takes more memory or time, or fails in a way that nobody expects.
        """
        self._modules.add(work.__module__)
        child = self._free.get()
        try:
            if child is None or not child.is_alive:
                child = ReadingChild(self._modules)
            return child.reply(seconds, work, args)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            if child:
                child.close()
            raise InputError(_too_large()) from error  # the system has killed it
        finally:
            self._free.put(child if child and child.is_alive else None)

    def close(self) -> None:
        """End those that wait for work; another piece of it starts others."""
        waiting = [self._free.get() for _ in range(self._free.qsize())]
        for child in waiting:
            if child:
                child.close()
            self._free.put(None)


_TEXTS = ReadingChildren()
prepare = _TEXTS.prepare


def read_apart(work: Callable[..., T], *args: object) -> T:
    """The result of *work*, which reads the text of a stranger, in another process.

    It blocks: call it in a thread beside the event loop. *work* is a function of a module; what it
    gets and returns, and what it raises, can be pickled; what it says is English, or made with `say`.

    Raises:
        InputError: it takes more memory or time than is allowed, or fails in a way that nobody expects.
    """
    return _TEXTS.run(SECONDS, work, *args)


def _too_long(seconds: float) -> str:
    return translate(
        "reading it took longer than {seconds:g} s of processor time: leave out what is not needed, and send it again",
        seconds=seconds,
    )


def _too_large() -> str:
    return translate(
        "reading it takes more than {memory} MiB of memory: leave out what is not needed, and send it again",
        memory=MEMORY >> 20,
    )


def _serve(connection: Connection) -> int:
    """Do one piece of work after another; the code to exit with."""
    while True:
        try:
            message = connection.recv_bytes()
        except EOFError:
            return _DONE
        begin = process_time()
        try:
            reply = _answered(message, begin)
        except MemoryError:
            return _NO_MEMORY
        connection.send_bytes(reply)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _KEPT:
            return _RENEWED


def _answered(message: bytes, begin: float) -> bytes:
    """The reply to *message*: the processor time used, and a result or an error."""
    result: Any = None
    error: Exception | None = None
    seconds, work, given = pickle.loads(message)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process, in C as well
    try:
        result = work(*given)
    except MemoryError:
        raise
    except Exception as found:  # noqa: BLE001 - raised again, or logged, in the server
        found.add_note(format_exc())
        error = found
    reply = pickle.dumps((process_time() - begin, result, error))
    signal.setitimer(signal.ITIMER_PROF, 0)
    return reply


def main() -> int:
    """Have a worker do what the server asks for, within limits, when nothing else needs the processor."""
    descriptor, *modules = sys.argv[1:]
    os.nice(_NICENESS)
    for name in modules:
        import_module(name)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()  # the workers share what is there
    with Connection(int(descriptor)) as connection:
        while True:
            if not (worker := os.fork()):
                os._exit(_serve(connection))
            code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
            if code == _DONE:
                return 0
            if code != _RENEWED:
                connection.send((None, None, code))


if __name__ == "__main__":
    sys.exit(main())
