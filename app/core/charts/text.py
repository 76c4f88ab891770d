"""A timeline drawn in a terminal, one line per row."""

from app.core.charts.timeline import Lane, Timeline
from app.core.translation import translate

_COLORS = {"F": "34", "B": "33", "I": "33", "W": "35"}
_IDLE = "."
_LONGEST_CELL = 6


def gantt(timeline: Timeline, width: int, color: bool = False) -> str:
    """*timeline* in at most *width* columns, to scale.

    A bar without room for its label shows the letter of its kind; one that is narrower than a
    column is left out.
    """
    names = max(len(row.name) for row in timeline.rows)
    notes = max(len(row.note) for row in timeline.rows)
    room = max(20, width - names - notes - 4)
    scale = min(room / timeline.end, _natural(timeline)) if timeline.end else 1.0
    lines = [f"{row.name:>{names}}  {_text_line(row, timeline.end, scale, color)}  {row.note}" for row in timeline.rows]
    return "\n".join([*lines, "", _legend(timeline, color)]) + "\n"


def _natural(timeline: Timeline) -> float:
    """Columns per second at which the shortest bar has room for the longest label."""
    bars = [bar for row in timeline.rows for bar in row.bars if bar.end > bar.start]
    shortest = min(bar.end - bar.start for bar in bars)
    longest = min(_LONGEST_CELL, max(len(bar.label) for bar in bars) + 2)
    return longest / shortest


def _text_line(row: Lane, end: float, scale: float, color: bool) -> str:
    pieces, at = [], 0
    for bar in row.bars:
        start, stop = round(bar.start * scale), round(bar.end * scale)
        pieces.append(_IDLE * (start - at))
        pieces.append(_painted(_cell(bar.kind, bar.label, stop - start), bar.kind, color))
        at = stop
    return "".join(pieces) + _IDLE * (round(end * scale) - at)


def _cell(kind: str, label: str, columns: int) -> str:
    text = f"{kind}{label}"
    if columns > len(text):
        return text + "-" * (columns - len(text) - 1) + " "
    return text if columns == len(text) else kind * columns


def _painted(text: str, kind: str, color: bool) -> str:
    return f"\x1b[{_COLORS[kind]}m{text}\x1b[0m" if color and text else text


def _legend(timeline: Timeline, color: bool) -> str:
    kinds = [f"{_painted(kind, kind, color)} {says}" for kind, says in timeline.kinds]
    return "   ".join([*kinds, translate("{idle} idle", idle=_IDLE)])
