"""Figures that play a typed number: what is there fills as far as it goes, and is red where it goes too far."""

from collections.abc import Sequence

from app.core.charts.axes import Arrow, Color, Paper, Rect, Sheet, Words
from app.core.charts.motion import Motion, MotionFrame, MovingPiece, Place, Scene
from app.core.translation import translate

GOAL = 12  # frames until a figure is complete, where they stand for parts of a whole
MOST_STEPS = 32  # small batches in a large one that are drawn
_EXTRA = 3  # frames of what is too much
_TOO_MUCH = "rs"
_LEFT, _FOOT, _TOP = 24.0, 150.0, 40.0  # pixels of a roofline
_DOT = 10.0
_SHARE = 8  # cells of a GPU in a matrix
_HIGH, _ROW = 26.0, 54.0  # pixels of a lane, and from one to the next


def _filled(
    tones: Sequence[str], goal: int, says: tuple[str, str, str], *, dot: bool = False
) -> tuple[MotionFrame, ...]:
    """Cells of *tones* that fill one by one; the texts are for too few of them, for *goal*, and for more."""
    return tuple(
        MotionFrame(
            says[(done >= goal) + (done > goal)],
            tuple(tone if at < done else "" for at, tone in enumerate(tones)),
            (MovingPiece(done, _TOO_MUCH if done > goal else "c"),) if dot else (),
        )
        for done in range(len(tones) + 1)
    )


def climbed_roof(flat: str, slope: str) -> Motion:
    """A kernel that climbs a roofline, a *slope* up to *flat*, as its intensity grows: frame GOAL is the ridge."""
    says = (
        translate("On the slope: the kernel is memory-bound, and its arithmetic waits for bytes."),
        translate("The ridge: bytes and arithmetic take equally long, and none waits for the other."),
        translate("Past the ridge: it has been compute-bound for a while, and goes no faster."),
    )
    return Motion(
        title=translate("A roofline, not to scale"),
        summary=translate("it rises with {slope} of memory up to {flat}", slope=slope, flat=flat),
        frames=_filled(["c"] * GOAL + [_TOO_MUCH] * _EXTRA, GOAL, says, dot=True),
        on=lambda paper: _roof_scene(flat, slope, paper),
    )


def _roof_scene(flat: str, slope: str, paper: Paper) -> Scene:
    right = paper.width - 6.0
    ridge = round(_LEFT + (right - _LEFT) * 0.52, 2)
    each, rise = (ridge - _LEFT) / GOAL, (_FOOT - 8 - _TOP) / GOAL
    tops = [max(_TOP, _FOOT - 8 - done * rise) for done in range(GOAL + _EXTRA + 1)]
    lines = (
        (_LEFT, _FOOT, right, _FOOT, Color.GRAY),
        (_LEFT, _FOOT, _LEFT, 8.0, Color.GRAY),
        (_LEFT, _FOOT - 8, ridge, _TOP, Color.BLUE),
        (ridge, _TOP, right, _TOP, Color.BLUE),
    )
    arrows = [Arrow(*ends, color=color, head=False) for *ends, color in lines]
    arrows.append(Arrow(ridge, _TOP, ridge, _FOOT, color=Color.GRAY, head=False, dashed=True))
    words = (
        Words(_LEFT + 8, 18, "FLOP/s", quiet=True),
        Words(right, _FOOT + 18, translate("arithmetic intensity"), anchor="end", quiet=True),
        Words(right, _TOP - 10, translate("peak {flat}", flat=flat), anchor="end", strong=True),
        Words(round((_LEFT + ridge) / 2 - 12, 2), 84, slope, anchor="end", strong=True),
        Words(ridge, _FOOT + 18, "?", anchor="middle", strong=True),
    )
    return Scene(
        Sheet(height=_FOOT + 24, arrows=tuple(arrows), words=words),
        tuple(Place(_LEFT + at * each, tops[at] + 2, each - 2, _FOOT - tops[at] - 2) for at in range(GOAL + _EXTRA)),
        tuple(Place(_LEFT + at * each - _DOT / 2, top - _DOT / 2, _DOT, _DOT) for at, top in enumerate(tops)),
    )


def small_and_large_step(base: int, batch: int) -> Motion:
    """How far one step of a large batch goes, beside the small ones that it replaces: a cell for each."""
    steps = batch // base
    says = (
        translate("The large step ends before the small ones do."),
        translate("One large step goes as far as all the small ones."),
        translate("The large step goes farther than all the small ones."),
    )
    small = ("f",) * steps
    names = (
        translate("{steps:,} steps, batch {batch:,}", steps=steps, batch=base),
        translate("1 step, batch {batch:,}", batch=batch),
    )
    grown = _filled(["c"] * steps + [_TOO_MUCH] * _EXTRA, steps, says)
    return Motion(
        title=translate("How far the weights move, if the gradient stays the same"),
        summary=translate("the step of a large batch beside those of small ones"),
        frames=tuple(MotionFrame(one.says, small + one.cells) for one in grown),
        on=lambda paper: _lanes(names, (steps, steps), paper),
    )


def memory_read(weights: float, caches: float) -> Motion:
    """What a decoding step reads from memory, up to where the time of a step ends: all of it in frame GOAL."""
    first = min(max(round(weights / (weights + caches) * GOAL), 1), GOAL - 1)
    says = (
        translate("Empty: what is not read when the step ends. A token needs all of it."),
        translate("All weights and all caches have been read once, and each sequence has its next token."),
        translate("Red: everything has been read already, and the step still lasts."),
    )
    tones = ["f"] * first + ["as"] * (GOAL - first)
    return Motion(
        title=translate("What a step reads from memory"),
        summary=translate("the weights once, and the caches of all sequences"),
        frames=_filled(tones + [_TOO_MUCH] * _EXTRA, GOAL, says),
        on=lambda paper: _lanes(
            (translate("weights"), translate("caches of all sequences")), (first, GOAL - first), paper
        ),
    )


def _lanes(names: Sequence[str], cells: tuple[int, int], paper: Paper) -> Scene:
    """Two lanes of *cells*, each below its name, with room for what is too much in the second."""
    each = paper.width / max(cells[0], cells[1] + _EXTRA)
    rows = [
        [Place(at * each + 1, 20 + row * _ROW, each - 2, _HIGH) for at in range(many)]
        for row, many in enumerate((cells[0], cells[1] + _EXTRA))
    ]
    boxes = [place for row, many in zip(rows, cells, strict=True) for place in row[:many]]
    places = tuple(place for row in rows for place in row)
    return Scene(
        Sheet(
            height=20 + 2 * _ROW,
            rects=tuple(Rect(*place, color=Color.PALE, label="", says="", outlined=True) for place in boxes),
            words=tuple(Words(0, 14 + row * _ROW, name) for row, name in enumerate(names)),
        ),
        places,
        places,
    )


def covered_columns(columns: int, ranks: int) -> Motion:
    """A matrix whose columns its GPUs take: each has as many as were typed, and frame GOAL gives each column to one."""
    says = (
        translate("White columns are on no GPU: their part of the result is missing."),
        translate("Each column is on one GPU, and the parts of the result stand side by side."),
        translate("Columns of several colors are on several GPUs, which compute the same."),
    )
    owned = [*range(_SHARE + 1), _SHARE * 3 // 2, _SHARE * ranks]
    frames = tuple(
        MotionFrame(
            says[(own >= _SHARE) + (own > _SHARE)],
            tuple(
                sum(1 << rank for rank in range(ranks) if (at - rank * _SHARE) % (_SHARE * ranks) < own)
                for at in range(_SHARE * ranks)
            ),
        )
        for own in owned
    )
    return Motion(
        title=translate("A matrix, split by columns"),
        summary=translate("{columns:,} columns over {ranks} GPUs", columns=columns, ranks=ranks),
        frames=frames,
        on=lambda paper: _columns_scene(columns, ranks, paper),
        ranks=ranks,
    )


def _columns_scene(columns: int, ranks: int, paper: Paper) -> Scene:
    each = paper.width / (_SHARE * ranks)
    cells = tuple(Place(at * each + 0.3, 24, each - 0.6, 96) for at in range(_SHARE * ranks))
    edge = Rect(0.5, 23.5, paper.width - 1, 97, color=Color.GRAY, label="", says="", outlined=True)
    names = tuple(
        Words(round((rank + 0.5) * _SHARE * each, 2), 138, f"{rank}", anchor="middle", quiet=True)
        for rank in range(ranks)
    )
    above = Words(0, 14, translate("{columns:,} columns; below, the number of each GPU", columns=columns))
    return Scene(Sheet(height=146, rects=(edge,), words=(above, *names)), cells, cells)
