"""What is said of a run: whether it fits, what a step spends its time on, and what to change."""

from app.core.charts.axes import percent_text
from app.core.translation import translate, translate_known
from app.core.units import BYTE, SECOND, show
from app.course.explorers.base import YesOrNo, change_words
from app.course.explorers.neighbors import Neighbor, is_better
from app.course.explorers.projection import Projection
from app.course.explorers.published_runs import ExplorableRun, off_by, published_near

_SEEN = 0.0005  # of a step; what takes less is not mentioned


def verdict_of(run: Projection, paper: ExplorableRun | None) -> YesOrNo:
    """Whether it fits, in a few words and in a sentence."""
    if run.spare >= 0:
        return YesOrNo(True, translate("It fits"), fit_of(run))
    title = translate("It ran, but these formulas say it does not fit") if paper else translate("It does not fit")
    return YesOrNo(False, title, fit_of(run))


def fit_of(run: Projection) -> str:
    """How much memory is left, or lacking."""
    room = show(run.room, BYTE)
    if run.spare >= 0:
        return translate("{spare} of {room} to spare on the fullest GPU.", spare=show(run.spare, BYTE, 3), room=room)
    return translate("The fullest GPU needs {spare} more than its {room}.", spare=show(-run.spare, BYTE, 3), room=room)


def _limits(run: Projection) -> tuple[tuple[float, str], ...]:
    """What a step spends its time on, the most first."""
    times = run.times
    spent = (
        (times.compute + times.recompute + times.launches + times.optimizer, translate("compute")),
        (run.communication, translate("communication")),
        (times.bubble, translate("the pipeline bubble")),
    )
    return tuple(sorted(spent, reverse=True))


def limit_of(run: Projection) -> str:
    """What limits the run, in a few words."""
    if run.spare < 0:
        return translate("memory")
    spent, name = _limits(run)[0]
    return f"{name}, {percent_text(spent / run.times.total)}"


def said_of(run: Projection, paper: ExplorableRun | None) -> str:
    """What a step takes, what was published, and how far to trust it (Markdown)."""
    total = run.times.total
    (most, first), *rest = ((spent, name) for spent, name in _limits(run) if spent > _SEEN * total)
    says = translate(
        "A step of {tokens:,} tokens takes **{total}**. {most} of it is {first}",
        tokens=run.placed.layout.tokens,
        total=show(total, SECOND),
        most=percent_text(most / total),
        first=first,
    )
    says += "".join(f", {percent_text(spent / total)} {name}" for spent, name in rest) + "."
    if run.communication > _SEEN * total:
        longest, kind = max((spent, kind) for kind, spent in run.sent)
        says += translate(
            " Most of the communication is for {kind}, {longest}.", kind=kind, longest=show(longest, SECOND, 3)
        )
    near, far = off_by()
    limits = translate(
        "This is a projection. For the published runs below, it is off by {near} to {far}.", near=near, far=far
    )
    return f"{says}\n\n{' '.join(filter(None, (_published(run, paper), limits)))}"


def _published(run: Projection, paper: ExplorableRun | None) -> str:
    """What was published of this run, or of one on the same GPUs."""
    if paper:
        printed = paper.printed[0]
        took = show(run.times.total * printed.slower(run), SECOND)
        return translate(
            "**Published:** {name} reports {text}, which is a step of {took}. {apart}",
            name=translate_known(paper.name),
            text=printed.text,
            took=took,
            apart=translate_known(paper.apart) if paper.apart else "",
        )
    if near := published_near(run.placed):
        printed = near.printed[0]
        here = printed.measure.of(near.projected)
        return translate(
            "**Published, in another layout:** {name} reports {text}. Projected, that layout gets {text_2} ({change}).",
            name=translate_known(near.name),
            text=printed.text,
            text_2=printed.measure.text(here),
            change=change_words(here, printed.value),
        )
    return ""


def fitting_next_steps(run: Projection, others: tuple[Neighbor, ...]) -> str:
    """What the table of neighbors shows."""
    better = [one for one in others if is_better(one, run)]
    if run.spare < 0:
        if better:
            return translate("Single changes that make it fit, those with the fewest GPU-hours first.")
        smaller = translate("These save the most memory.") if others else ""
        return translate("No single change makes it fit. {smaller}", smaller=smaller).rstrip()
    if len(better) == len(others) > 0:
        return translate("The single changes that save the most GPU-hours.")
    if better:
        return translate("The single changes with the fewest GPU-hours. Not all of them are better.")
    nearest = translate("These come closest.") if others else ""
    return translate(
        "No single change that fits saves half a percent of the GPU-hours. {nearest}", nearest=nearest
    ).rstrip()
