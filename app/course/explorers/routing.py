"""Tokens routed to experts: load, dropped tokens and traffic."""

import random
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import accumulate

from app.core.charts.axes import Arrow, Color, Drawing, Paper, Rect, Sheet, Tone, Words, percent_text, text_width
from app.core.formulas.sharding import expert_all_to_all_bytes, expert_capacity, expert_imbalance
from app.core.simulators.sharding import route
from app.core.translation import noted, translate
from app.core.units import BYTE, figures, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Slider
from app.course.explorers.words import counted_noun, divisor, figure_summary

_ELEMENT = 2  # bytes of a number
_SEED = 1
_TOP, _DEEP = 28, 230  # pixels above the bins, and of the deepest one
_THIN, _ROOMY = 4, 18  # pixels of an expert: without a gap below, with its number above


def _routing(values: Values) -> ExplorerOutput:
    experts, tokens = values.count("experts"), values.count("tokens")
    active, ranks = min(values.count("active"), experts), divisor(experts, values.count("ranks"))
    chosen = _chosen_experts(tokens, experts, active, values.number("skew"))
    per_rank = -(-tokens // ranks)
    batches = [chosen[at : at + per_rank] for at in range(0, tokens, per_rank)]
    batches += [[] for _ in range(ranks - len(batches))]
    capacity = expert_capacity(tokens, experts, active, values.number("factor"))
    unlimited, limited = route(batches, experts), route(batches, experts, capacity)
    imbalance = expert_imbalance([float(load) for load in unlimited.loads])
    dropped, hidden = limited.dropped / (tokens * active), values.count("hidden")
    sent = max(limited.sent) * hidden * _ELEMENT
    even = expert_all_to_all_bytes(per_rank, hidden, active, float(_ELEMENT), ranks)
    says = translate(
        "The busiest expert gets **{imbalance} ×** the mean load, and all the others "
        "wait for it. With a capacity of {copy} per expert, **{dropped}** of the "
        "copies are dropped. In one all-to-all the busiest GPU sends {sent}; with even "
        "routing it would be {even}.",
        imbalance=figures(imbalance, 3),
        copy=counted_noun(capacity, "copy", "copies"),
        dropped=percent_text(dropped),
        sent=show(sent, BYTE),
        even=show(even, BYTE),
    )
    facts = (
        KeyFigure.plain(noted("imbalance"), imbalance, 3),
        KeyFigure.plain(noted("capacity of an expert"), capacity),
        KeyFigure.share(noted("dropped"), dropped),
        KeyFigure.quantity(noted("sent by the busiest GPU"), sent, BYTE),
        KeyFigure.quantity(noted("sent with even routing"), even, BYTE),
    )
    notice = _notice(values, experts, active, ranks)
    bins = _bins(unlimited.loads, capacity, figure_summary(says))
    return ExplorerOutput(says, facts, (bins,), notice=notice)


def _notice(values: Values, experts: int, active: int, ranks: int) -> str:
    """What differs from what was asked for, because it does not divide."""
    says = []
    if active != values.count("active"):
        says.append(
            translate(
                "A token cannot go to {active} of {experts} experts; shown with all.",
                active=values.count("active"),
                experts=experts,
            )
        )
    if ranks != values.count("ranks"):
        over = translate("one GPU") if ranks == 1 else translate("{ranks} GPUs", ranks=ranks)
        says.append(
            translate(
                "{experts} experts do not divide evenly over {ranks} GPUs; shown on {over}.",
                experts=experts,
                ranks=values.count("ranks"),
                over=over,
            )
        )
    return " ".join(says)


def _bins(loads: Sequence[int], capacity: int, summary: str) -> Drawing:
    """A bin for each expert, filled up to the capacity; what does not fit is above it."""
    return Drawing(
        title=translate("Copies that reach each expert"),
        summary=summary,
        on=lambda paper: _placed_bins(loads, capacity, paper),
        table=(
            (translate("Expert"), translate("Copies"), translate("Dropped")),
            *((str(expert), figures(load), figures(max(0, load - capacity))) for expert, load in enumerate(loads)),
        ),
    )


def _placed_bins(loads: Sequence[int], capacity: int, paper: Paper) -> Sheet:
    foot, left = _TOP + _DEEP, 6.0
    right = paper.width - text_width(translate("capacity {capacity:,}", capacity=capacity)) - 10
    step = (right - left) / len(loads)
    width = step * 0.8 if step > _THIN else step
    scale = _DEEP / max(*loads, capacity)
    rects, words = [], []
    for expert, load in enumerate(loads):
        x, kept, over = left + expert * step, min(load, capacity), max(0, load - capacity)
        says = translate(
            "expert {expert}: {copy}, {over:,} dropped",
            expert=expert,
            copy=counted_noun(load, "copy", "copies"),
            over=over,
        )
        for count, below, tone in (
            (capacity - kept, kept, Tone.IDLE),
            (kept, 0, Tone.COMPUTE),
            (over, capacity, Tone.DROPPED),
        ):
            if count:
                top = foot - (below + count) * scale
                sizes = (round(size, 2) for size in (x, top, width, count * scale))
                rects.append(Rect(*sizes, color=tone, label="", says=says, fills=tone is not Tone.IDLE))
        if step > _ROOMY:
            words.append(Words(x + width / 2, foot + 16, str(expert), anchor="middle", quiet=True))
    brim = round(foot - capacity * scale, 2)
    words.append(Words(right + 6, brim + 4, translate("capacity {capacity:,}", capacity=capacity)))
    words.append(Words(left, 14, translate("copies of tokens; what is above the line is dropped"), quiet=True))
    words.append(Words(right, foot + 33, translate("expert"), anchor="end", quiet=True))
    line = Arrow(0, brim, right, brim, color=Color.GRAY, head=False, dashed=True)
    return Sheet(height=foot + 40, rects=tuple(rects), arrows=(line,), words=tuple(words))


def _chosen_experts(tokens: int, experts: int, active: int, skew: float) -> list[list[int]]:
    """The experts of each token; expert e is drawn with weight (e + 1) ** -skew."""
    if active == experts:
        return [list(range(experts)) for _ in range(tokens)]
    dice = random.Random(_SEED)
    weights = [(place + 1) ** -skew for place in range(experts)]
    everyone = range(experts)
    if experts < 2 * active:
        # Waiting for those that are seldom drawn would take long. Alarms that ring at random after
        # a time of mean 1 / weight choose with the same probabilities.
        return [
            sorted(nsmallest(active, everyone, key=lambda one: alarms[one]))
            for alarms in ([dice.expovariate(weight) for weight in weights] for _ in range(tokens))
        ]
    sums = list(accumulate(weights))
    found = []
    for _ in range(tokens):
        own: set[int] = set()
        while len(own) < active:
            own.update(dice.choices(everyone, cum_weights=sums, k=active - len(own)))
        found.append(sorted(own))
    return found


def _not_the_capacity(values: Values) -> Iterator[tuple[float, str]]:
    """Numbers of copies that are taken for the capacity of an expert."""
    share = values.count("tokens") / values.count("experts")
    yield (
        share * values.number("factor"),
        translate("Each token goes to {active} experts, so there are as many copies.", active=values.count("active")),
    )
    yield (share, translate("That is the tokens per expert, without their copies and without the factor."))


ROUTING = Explorer(
    name="routing",
    title=noted("Which expert overflows?"),
    summary=noted("Tokens routed to experts at random: loads, dropped copies, bytes of the all-to-all."),
    question=noted("2,048 tokens, 2 of 8 experts each, capacity factor 1.25: what is the capacity?"),
    predicts=noted("capacity of an expert"),
    chapter="experts",
    formulas=("sharding.expert_capacity", "sharding.expert_imbalance", "sharding.expert_all_to_all_bytes"),
    controls=(
        Slider("experts", noted("Experts"), (2, 256), default=8, doubles=True),
        Slider("active", noted("Experts per token"), (1, 8), default=2),
        Slider("tokens", noted("Tokens"), (64, 4096), default=2048, doubles=True),
        Slider("ranks", noted("GPUs"), (1, 64), default=8, doubles=True, aside=True),
        Slider("factor", noted("Capacity factor"), (1, 4), default=1.25, whole=False),
        Slider("skew", noted("Skew of the router (0: even)"), (0, 2), default=0.3, whole=False, aside=True),
        Slider("hidden", noted("Hidden size"), (256, 16384), default=4096, doubles=True, aside=True),
    ),
    explore=_routing,
    asks=noted("What is the capacity of an expert, in copies of tokens?"),
    foreseen=ExplainedMistakes(
        exercise="experts/capacity",
        answer="capacity",
        given=lambda values: {
            "tokens": values.count("tokens"),
            "experts": values.count("experts"),
            "top": min(values.count("active"), values.count("experts")),
            "factor": values.number("factor"),
        },
        others=_not_the_capacity,
    ),
)
