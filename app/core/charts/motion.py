"""A figure that moves: frames of cells that fill, and of pieces that go from place to place."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.core.charts.axes import Paper, Sheet
from app.core.translation import translate

Paint = int | str  # the ranks whose values are in it, as bits, or a tone; empty: nothing


class Place(NamedTuple):
    """A box on a paper, in pixels."""

    x: float
    y: float
    width: float
    height: float


class MovingPiece(NamedTuple):
    """A moving piece in a frame: the number of its *place*, None where it is not there."""

    place: int | None
    paint: Paint
    label: str = ""


@dataclass(frozen=True, slots=True)
class MotionFrame:
    """A state of a figure, and what it *says*."""

    says: str
    cells: tuple[Paint, ...] = ()
    pieces: tuple[MovingPiece, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """A figure on a paper: what stands still, its cells, and the places where pieces can be."""

    sheet: Sheet
    cells: tuple[Place, ...] = ()
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """Frames of a figure; a paint of bits has a stripe for each of *ranks*.

    *still* is the frame on paper, and where scripts begin; with *runs*, it plays as it is opened.
    """

    title: str
    summary: str
    frames: tuple[MotionFrame, ...]
    on: Callable[[Paper], Scene]
    ranks: int = 1
    still: int = 0
    runs: bool = False

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """What the frames say: a header, then one row per frame."""
        rows = ((str(number), frame.says) for number, frame in enumerate(self.frames))
        return ((translate("Step"), translate("What it shows")), *rows)

    @property
    def changes(self) -> str:
        """What each frame changes of the one before, compact: static/player.js reads it."""
        blank = MotionFrame("", (None,) * len(self.frames[0].cells), (None,) * len(self.frames[0].pieces))  # type: ignore[arg-type]
        before = (blank, *self.frames)
        return "|".join(",".join(_changes(*pair)) for pair in zip(before, self.frames, strict=False))

    @property
    def said(self) -> str:
        """What the frames say."""
        return "|".join(frame.says for frame in self.frames)


def _changes(before: MotionFrame, now: MotionFrame) -> Iterator[str]:
    for number, (old, paint) in enumerate(zip(before.cells, now.cells, strict=True)):
        if old != paint:
            yield f"{number} {paint}"
    for number, (was, piece) in enumerate(zip(before.pieces, now.pieces, strict=True)):
        if was != piece:
            yield f"{number} {'-' if piece.place is None else piece.place} {piece.paint} {piece.label}"


@dataclass(frozen=True, slots=True)
class DrawnPiece:
    """A piece at its place: the paths of its colors, and its label."""

    place: Place
    layers: tuple[tuple[str, str], ...]
    label: str
    is_there: bool


@dataclass(frozen=True, slots=True)
class MotionPicture:
    """The still of a motion on a paper, and the places of the others."""

    scene: Scene
    ranks: int
    layers: tuple[tuple[str, str], ...]
    pieces: tuple[DrawnPiece, ...]

    @property
    def cells(self) -> str:
        """The places of the cells, compact."""
        return _places_text(self.scene.cells)

    @property
    def places(self) -> str:
        """The places of pieces, compact; empty if they are those of the cells."""
        return "" if self.scene.places == self.scene.cells else _places_text(self.scene.places)


def motion_picture(motion: Motion, paper: Paper) -> MotionPicture:
    """*motion* on *paper*, in its still."""
    scene, frame, pieces = motion.on(paper), motion.frames[motion.still], []
    for piece in frame.pieces:
        place = scene.places[piece.place or 0]
        layers = _layers([(piece.paint, Place(0, 0, place.width, place.height))], motion.ranks)
        pieces.append(DrawnPiece(place, layers, piece.label, piece.place is not None))
    cells = _layers(zip(frame.cells, scene.cells, strict=True), motion.ranks)
    return MotionPicture(scene, motion.ranks, cells, tuple(pieces))


def _layers(cells: Iterable[tuple[Paint, Place]], ranks: int) -> tuple[tuple[str, str], ...]:
    """For each color, one path of all that has it."""
    found: dict[str, list[str]] = {}
    for paint, place in cells:
        for color, path in _painted(paint, place, ranks):
            found.setdefault(color, []).append(path)
    return tuple((color, "".join(paths)) for color, paths in sorted(found.items()))


def _painted(paint: Paint, place: Place, ranks: int) -> Iterator[tuple[str, str]]:
    x, y, width, height = place
    if isinstance(paint, str):
        if paint:
            yield paint, _box(x, y, width, height)
        return
    each = height / ranks
    for rank in range(ranks):
        if paint >> rank & 1:
            yield f"r{rank}", _box(x, y + height - (rank + 1) * each, width, each)


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.4g} {y:.4g}h{width:.4g}v{height:.4g}h-{width:.4g}z"


def _places_text(places: Sequence[Place]) -> str:
    return ",".join(" ".join(f"{size:.4g}" for size in place) for place in places)
