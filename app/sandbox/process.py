"""A worker process as the server sees it; all that comes from it is hostile."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from app.errors import UnavailableError

MEGABYTES = 96  # of a submission
_WORKER = Path(__file__).resolve().parent / "worker.py"
_LARGEST = 8 << 20  # bytes of a frame
_START = 20.0  # seconds
_GRACE = 1.0  # seconds after the wall before a silent worker counts as lost


class LostError(Exception):
    """The worker died, froze or spoke nonsense."""


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """One started worker; *locked* where the system lets it lock itself down."""

    process: asyncio.subprocess.Process
    locked: bool

    @classmethod
    async def start(cls, component: Path, paths: Sequence[str], *, lock: bool) -> Self:
        """A worker that has said that it is ready.

        Raises:
            UnavailableError: it could not start, or could not lock itself down.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-B", str(_WORKER),
            str(component), str(MEGABYTES), "lock" if lock else "open", *paths,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.defpath},
            limit=_LARGEST,
        )  # fmt: skip
        worker = cls(process, lock)
        try:
            hello = await asyncio.wait_for(worker._receive(), _START)
        except (LostError, TimeoutError) as error:
            said = await worker._last_words()
            await worker.kill()
            raise UnavailableError(f"a worker of the sandbox cannot start: {said}") from error
        except asyncio.CancelledError:
            await worker.kill()
            raise
        if bool(hello.get("locked")) != lock:
            await worker.kill()
            raise UnavailableError("a worker of the sandbox did not lock itself down")
        return worker

    async def ask(self, request: Mapping[str, object], wall: float) -> dict[str, object]:
        """Its answer to *request*, which it ends after *wall* seconds.

        Raises:
            LostError: none came.
        """
        frame = json.dumps({**request, "wall": wall}).encode()
        if self.process.stdin is None:
            raise LostError
        try:
            self.process.stdin.write(len(frame).to_bytes(4, "big") + frame)
            return await asyncio.wait_for(self._receive(), wall + _GRACE)
        except (TimeoutError, ConnectionError) as error:
            raise LostError from error

    async def kill(self) -> None:
        """End it for good."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        # Only with both pipes at their end does asyncio let go of the process.
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(RuntimeError, TimeoutError):  # whoever reads it now comes to its end
                    await asyncio.wait_for(stream.read(), _GRACE)

    async def _receive(self) -> dict[str, object]:
        stream = self.process.stdout
        if stream is None:
            raise LostError
        try:
            size = int.from_bytes(await stream.readexactly(4), "big")
            if size > _LARGEST:
                raise LostError
            answer = json.loads(await stream.readexactly(size))
        except (asyncio.IncompleteReadError, ValueError, RecursionError) as error:
            raise LostError from error
        if not isinstance(answer, dict):
            raise LostError
        return answer

    async def _last_words(self) -> str:
        with suppress(ProcessLookupError):
            self.process.kill()
        said = await self.process.stderr.read() if self.process.stderr else b""
        lines = said.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"
