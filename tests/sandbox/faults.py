"""Workers whose n-th operation fails, as the kernel would let it fail."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.course.sandbox.process import WorkerProcess

OPERATIONS = ("spawn", "write", "broken write", "read")


class Fault:
    """Makes the *number*-th *operation* from now on fail, once; `met` says whether it was reached."""

    def __init__(self) -> None:
        self.operation, self.left, self.met = "", 0, False

    @contextmanager
    def at(self, operation: str, number: int) -> Iterator[None]:
        self.operation, self.left, self.met = operation, number, False
        yield
        self.operation = ""

    def comes(self, operation: str) -> bool:
        if operation != self.operation:
            return False
        self.left -= 1
        if self.left == 0:
            self.met = True
        return self.left == 0


def faulty() -> tuple[Fault, type[WorkerProcess]]:
    """A fault, and workers that it strikes at the edge between the server and the kernel."""
    fault = Fault()

    class Faulty(WorkerProcess):
        @classmethod
        async def _spawn(cls, component: Path, paths: Sequence[str], *, lock: bool) -> asyncio.subprocess.Process:
            if fault.comes("spawn"):
                raise BlockingIOError(11, "Resource temporarily unavailable")
            return await super()._spawn(component, paths, lock=lock)

        def _write(self, frame: bytes) -> None:
            if fault.comes("write"):
                raise BrokenPipeError(32, "Broken pipe")
            if fault.comes("broken write"):
                raise RuntimeError("unable to perform operation on a closed pipe")  # uvloop's
            super()._write(frame)

        async def _bytes(self, size: int) -> bytes:
            if fault.comes("read"):
                raise asyncio.IncompleteReadError(b"", size)
            return await super()._bytes(size)

    return fault, Faulty
