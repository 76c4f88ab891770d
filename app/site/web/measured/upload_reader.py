"""Files that visitors send: a few are read at a time, each request in a process of its own."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.types import Message

from app.core.errors import InputError
from app.core.measurements.file_reader import Report
from app.core.measurements.packed_files import PACKED_LIMIT
from app.core.translation import localized, noted, translate
from app.core.units import in_english
from app.server.aside import aside, current_payer, lift_ceiling
from app.server.aside.jobs import BoundedJobs
from app.server.aside.measured_files import measured_apart

BODY_LIMIT = PACKED_LIMIT + 64 * 1024  # bytes: the files, and the form around them
_AT_ONCE = 2
_WAITING = 5  # requests of one payer
_MOST_OF_ONE, _MOST_NEARBY, _MOST_OF_ALL = 256 << 20, 1 << 30, 2 << 30  # bytes on the disk: of a payer, a site, all
_AGAIN = 10  # seconds after which to ask again
_BUSY = noted("other files are being read; send yours again in a moment")
_MOST_FILES = 64
_MOST_TEXT = 4 << 20  # bytes that are pasted
_PIECE = 1 << 20
_NAME = re.compile(r"[^\w.+ -]+")
_LONGEST = 60  # characters of a file's name
_PASTED = "what you pasted"


@dataclass(frozen=True, slots=True)
class Upload:
    """What a form had: the reports of its files, and the other fields."""

    reports: tuple[Report, ...]
    fields: dict[str, str]


class UploadReader:
    """Reads what visitors send, once all of it has arrived; nothing is stored."""

    def __init__(self) -> None:
        self._jobs = BoundedJobs[None, list[Report]](_BUSY, at_once=_AT_ONCE, waiting=_WAITING)
        self._arriving: Counter[str] = Counter()  # bytes, by the site that they come from
        self._of_one: Counter[str] = Counter()  # bytes, by the lane of the payer

    async def read(self, request: Request) -> Upload:
        """The reports of the files and the text in the form of *request*.

        Raises:
            InputError: nothing was sent, or reading takes too much.
            HTTPException: 503, if too much of the same payer, or of all, arrives or waits.
        """
        with TemporaryDirectory(prefix="wallclock-") as folder, self._counting() as counted:
            paths, fields = await _received(counted(request), Path(folder))
            if not paths:
                raise InputError(translate("paste the output of a test or a log, or choose a file"))
            lift_ceiling()  # reading has one of its own
            return Upload(tuple(await self._jobs.run(lambda: asyncio.to_thread(measured_apart, paths))), fields)

    @contextmanager
    def _counting(self) -> Iterator[Callable[[Request], Request]]:
        """A request whose body is counted as it arrives, until all of it has been read."""
        site, lane, arrived = current_payer().site, current_payer().lane.name, 0

        def counted(request: Request) -> Request:
            async def receive() -> Message:
                nonlocal arrived
                message = await request.receive()
                size = len(message.get("body", b""))
                arrived += size
                self._arriving[site] += size
                self._of_one[lane] += size
                nearby, total = self._arriving[site], self._arriving.total()
                if self._of_one[lane] > _MOST_OF_ONE or nearby > _MOST_NEARBY or total > _MOST_OF_ALL:
                    raise HTTPException(503, translate(_BUSY), {"Retry-After": str(_AGAIN)})
                return message

            return Request(request.scope, receive)

        try:
            yield counted
        finally:
            self._arriving[site] -= arrived
            self._of_one[lane] -= arrived
            self._arriving, self._of_one = +self._arriving, +self._of_one


async def _received(request: Request, folder: Path) -> tuple[list[Path], dict[str, str]]:
    """The files that were sent, in *folder*, and the short fields."""
    paths: list[Path] = []
    fields: dict[str, str] = {}
    form = request.form(max_files=_MOST_FILES, max_fields=8, max_part_size=_MOST_TEXT)
    async with form as sent:
        for name, value in sent.multi_items():
            if isinstance(value, UploadFile):
                if value.filename or value.size:
                    paths.append(await _spooled(value, folder / str(len(paths))))
            elif name == "text" and value.strip():
                paths.append(await aside(_written, folder / str(len(paths)), _PASTED, value))
            elif name != "text":
                fields[name] = _typed(value[:200])
    return paths, fields


def _typed(text: str) -> str:
    """A field as every page reads it.

    Raises:
        InputError: a number in it may be one or another.
    """
    try:
        return in_english(text)
    except ValueError as error:
        raise InputError(localized(str(error))) from error


async def _spooled(file: UploadFile, folder: Path) -> Path:
    path = _path(folder, file.filename or "a file")
    with path.open("wb") as target:
        while piece := await file.read(_PIECE):
            await aside(target.write, piece)
    return path


def _written(folder: Path, name: str, text: str) -> Path:
    path = _path(folder, name)
    path.write_text(text, encoding="utf-8", errors="replace")
    return path


def _path(folder: Path, name: str) -> Path:
    """A path in *folder*, which is made, for a file that the visitor calls *name*."""
    folder.mkdir()
    return folder / (_NAME.sub("", name).strip(" .")[-_LONGEST:] or "a file")
