"""Where pictures are drawn: a few at a time, the latest kept in memory."""

import asyncio
import hashlib
import sys
from asyncio.subprocess import PIPE
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from app.aside import Seats, aside, charge
from app.config import ROOT
from app.errors import UnavailableError
from app.translation import noted, translate

_PAINTER = Path(__file__).with_name("painter.py")
_FONTS = sorted((ROOT / "static" / "fonts" / "drawn").iterdir())
_AT_ONCE = 2
_WAITING = 5  # pictures for one address
_SECONDS = 60.0  # for one picture, by the clock: its processor time is limited as well
_ROOM = 16 << 20  # bytes of pictures that are kept
_BUSY = noted("other pictures are being drawn; ask again in a moment")

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG, and the tag by which a browser knows that it has it already."""

    png: bytes
    tag: str


class Studio:
    """Draws pictures from SVG, each key once, and bounded whatever is asked."""

    def __init__(self, room: int = _ROOM) -> None:
        """Keep at most *room* bytes."""
        self._room = room
        self._kept: OrderedDict[Key, Picture] = OrderedDict()
        self._drawing: dict[Key, asyncio.Task[Picture]] = {}
        self._seats = Seats(_BUSY, count=_AT_ONCE, waiting=_WAITING)

    async def picture(
        self, key: Key, drawn: Callable[[], str], admit: Callable[[], None]
    ) -> Picture:
        """The picture of *key*: the SVG that *drawn* returns, as PNG.

        *admit* is called before anything is drawn, and raises an error if that is not allowed.

        Raises:
            HTTPException: 503, if too many pictures for the same address are waiting.
            UnavailableError: it could not be drawn.
        """
        if kept := self._kept.get(key):
            self._kept.move_to_end(key)
            return kept
        task = self._drawing.get(key)
        if task is None:
            admit()
            task = self._drawing[key] = asyncio.create_task(self._draw(key, drawn))
        return await asyncio.shield(task)  # others may wait for it, too

    async def _draw(self, key: Key, drawn: Callable[[], str]) -> Picture:
        try:
            async with self._seats.seat():
                png = await _painted(await aside(drawn))
            return self._keep(key, Picture(png, hashlib.sha256(png).hexdigest()[:16]))
        finally:
            del self._drawing[key]

    def _keep(self, key: Key, picture: Picture) -> Picture:
        self._kept[key] = picture
        while sum(len(one.png) for one in self._kept.values()) > self._room:
            self._kept.popitem(last=False)
        return picture


async def _painted(svg: str) -> bytes:
    """*svg* as PNG.

    Raises:
        UnavailableError: the renderer failed, or took too long.
    """
    begin = monotonic()
    painter = await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(_PAINTER), *map(str, _FONTS), stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        async with asyncio.timeout(_SECONDS):
            png, trouble = await painter.communicate(svg.encode())
    except TimeoutError:
        raise UnavailableError(translate("the picture took too long to draw")) from None
    finally:
        if painter.returncode is None:
            painter.kill()
            await painter.wait()
        charge(monotonic() - begin)
    if painter.returncode or not png:
        cause = trouble.decode(errors="replace").strip()
        raise UnavailableError(translate("the picture could not be drawn"), cause)
    return png
