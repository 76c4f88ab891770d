"""The worker processes of a server: forks of one that has imported everything."""

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import connection, get_context
from socket import socket

from uvicorn import Config
from uvicorn._subprocess import subprocess_started
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

_LOOK = 0.5  # seconds from one look at the processes to the next, if none dies before
_log = logging.getLogger(__name__)
_STOPPING = (signal.SIGTERM, signal.SIGINT)


class Fork(Process):
    """A process that starts within a moment, and costs little: nothing is imported again."""

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self.process = get_context("fork").Process(  # type: ignore[assignment]
            target=_begin, args=(config, self.target, sockets)
        )

    def start(self) -> None:
        """Start; signals meant for this process wait until its handlers are not the parent's."""
        with _blocked():
            super().start()


class Processes(Multiprocess):
    """Those that die are replaced at once.

    After a SIGHUP, which brings a new version into service, processes import everything again.
    """

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        # With other threads, a fork would not be safe.
        self._forks = sys.platform == "linux" and threading.active_count() == 1

    def init_processes(self) -> None:
        """Start all of them."""
        self.processes = [self._started() for _ in range(self.processes_num)]

    def run(self) -> None:
        """Replace those that die until a signal."""
        self.init_processes()
        while not self.should_exit.is_set():
            connection.wait([one.process.sentinel for one in self.processes], _LOOK)
            self.handle_signals()
            for place in range(len(self.processes)):
                self._look_after(place)
        self.terminate_all()
        self.join_all()

    def handle_hup(self) -> None:
        """Replace one after the other, each once its successor serves."""
        self._forks = False
        super().handle_hup()

    def _look_after(self, place: int) -> None:
        """Replace the process at *place* if it has died, or does not answer."""
        one = self.processes[place]
        if self.should_exit.is_set() or self._answers(one):
            return
        one.kill()
        one.join()
        if one.exitcode == STARTUP_FAILURE:
            _log.error("a process failed to start, as every other one would")
            self.should_exit.set()
            return
        if (one.exitcode or 0) > 0:  # most likely the database is away, which takes a while
            self.should_exit.wait(_LOOK)
        self.processes[place] = self._started()

    def _answers(self, one: Process) -> bool:
        """Whether *one* answers in time; unlike `Process.is_alive`, False at once if it dies."""
        if not one.process.is_alive():
            return False
        pipe, timeout = one.parent_conn, self.config.timeout_worker_healthcheck
        try:
            pipe.send(b"ping")
            if pipe not in connection.wait([pipe, one.process.sentinel], timeout):
                return False
            pipe.recv()
        except (OSError, EOFError):  # it dies just now
            return False
        return True

    def _started(self) -> Process:
        process = (Fork if self._forks else Process)(self.config, self.sockets)
        process.start()
        return process


@contextmanager
def cleaned_up() -> Iterator[ExitStack]:
    """What is closed at the end, even by a SIGTERM, which uvicorn raises again when it has stopped.

    (Not by an exception of the handler: one that is raised in a finalizer is lost.)
    """
    with ExitStack() as stack:

        def stop(number: int, _frame: object) -> None:
            stack.close()
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

        signal.signal(signal.SIGTERM, stop)
        yield stack


def _begin(config: Config, target: object, sockets: list[socket]) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    subprocess_started(config, target, sockets, None)  # type: ignore[arg-type]


@contextmanager
def _blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
