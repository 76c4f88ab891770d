"""Time that is lost: ranks that wait for a slow one, and work that a failure takes away."""

from app.core.charts.timeline import Lane, TimeBar, Timeline
from app.core.translation import translate

_STEPS, _RANKS, _SLOW = 3, 4, 2
_COMPUTE, _LATE, _REDUCE = 6.0, 9.0, 2.0  # seconds of a step; of the slow rank; of the all-reduce
_WORK, _SAVE, _RESTART, _FAILS = 8.0, 1.0, 3.0, 15.0  # seconds of the run that fails


def straggler_timeline() -> Timeline:
    """Steps in which all ranks wait for one that is slow."""
    step = max(_COMPUTE, _LATE) + _REDUCE
    rows = []
    for rank in range(_RANKS):
        compute = _LATE if rank == _SLOW else _COMPUTE
        bars = []
        for number in range(_STEPS):
            start = number * step
            bars.append(_bar(start, start + compute, "F", translate("compute")))
            bars.append(_bar(start + step - _REDUCE, start + step, "C", translate("all-reduce")))
        rows.append(Lane(translate("rank {rank:,}", rank=rank), "", tuple(bars)))
    return Timeline(
        title=translate("Three steps, and one rank that is slow"),
        summary=translate("gray: the others wait for rank {rank}", rank=_SLOW),
        rows=tuple(rows),
        end=_STEPS * step,
        kinds=(("F", translate("compute")), ("C", translate("all-reduce"))),
        note=translate("Gray: waiting. An all-reduce begins when the last rank is ready."),
        untimed=True,
    )


def failure_timeline() -> Timeline:
    """A run that saves, fails, and repeats what it had done since the last checkpoint."""
    lost = _WORK + _SAVE
    again = _FAILS + _RESTART
    end = again + _WORK + _SAVE
    bars = (
        _bar(0, _WORK, "F", translate("work")),
        _bar(_WORK, lost, "C", translate("checkpoint")),
        _bar(lost, _FAILS, "X", translate("work that is lost")),
        _bar(_FAILS, again, "W", translate("restart")),
        _bar(again, again + _WORK, "F", translate("the same work again")),
        _bar(again + _WORK, end, "C", translate("checkpoint")),
    )
    kinds = (
        ("F", translate("work")),
        ("C", translate("checkpoint")),
        ("X", translate("lost")),
        ("W", translate("restart")),
    )
    return Timeline(
        title=translate("A checkpoint and a failure"),
        summary=translate("what was done since the last checkpoint is done again"),
        rows=(Lane(translate("the run"), "", bars),),
        end=end,
        kinds=kinds,
        note=translate("The failure takes what was done since the last checkpoint."),
        untimed=True,
    )


def _bar(start: float, end: float, kind: str, says: str) -> TimeBar:
    return TimeBar(start, end, kind, "", says)
