"""Where pictures are drawn: a few at a time, the latest kept in memory."""

import asyncio
import hashlib
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from app.core.errors import UnavailableError
from app.core.folders import ROOT
from app.core.translation import noted, translate
from app.server.aside import aside, charge
from app.server.aside.jobs import BoundedJobs

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
        self._jobs = BoundedJobs[Key, Picture](
            _BUSY, at_once=_AT_ONCE, waiting=_WAITING, room=room, size=lambda one: len(one.png)
        )

    async def picture(self, key: Key, drawn: Callable[[], str], admit: Callable[[], None]) -> Picture:
        """The picture of *key*: the SVG that *drawn* returns, as PNG.

        *admit* is called before anything is drawn, and raises an error if that is not allowed.

        Raises:
            HTTPException: 503, if too many pictures for the same address are waiting.
            UnavailableError: it could not be drawn.
        """

        async def draw() -> Picture:
            png = await _painted(await aside(drawn))
            return Picture(png, hashlib.sha256(png).hexdigest()[:16])

        return await self._jobs.result(key, draw, admit)


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
