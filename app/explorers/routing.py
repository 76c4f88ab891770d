"""Tokens routed to experts: load, dropped tokens and traffic."""

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate

from app.charts.axes import Axis, percent_text
from app.charts.color import Color
from app.charts.plot import LabeledPoint, Plot, Series
from app.explorers.base import (
    Explored,
    Explorer,
    Foreseen,
    Values,
    divisor,
    plain,
    quantity,
    share,
    summary_of,
)
from app.explorers.controls import Slider
from app.formulas.sharding import expert_all_to_all_bytes, expert_capacity, expert_imbalance
from app.simulators.sharding.routing import route
from app.units import BYTE, COUNT, show

_ELEMENT = 2  # bytes of a number
_SEED = 1


def _routing(values: Values) -> Explored:
    experts, tokens = values.count("experts"), values.count("tokens")
    active, ranks = min(values.count("active"), experts), divisor(experts, values.count("ranks"))
    chosen = _chosen(tokens, experts, active, values.number("skew"))
    per_rank = -(-tokens // ranks)
    batches = [chosen[at : at + per_rank] for at in range(0, tokens, per_rank)]
    batches += [[] for _ in range(ranks - len(batches))]
    capacity = expert_capacity(tokens, experts, active, values.number("factor"))
    unlimited, limited = route(batches, experts), route(batches, experts, capacity)
    imbalance = expert_imbalance([float(load) for load in unlimited.loads])
    dropped, hidden = limited.dropped / (tokens * active), values.count("hidden")
    sent = max(limited.sent) * hidden * _ELEMENT
    even = expert_all_to_all_bytes(per_rank, hidden, active, float(_ELEMENT), ranks)
    says = (
        f"The busiest expert gets **{imbalance:.3g} times** the mean load, and all the others wait "
        f"for it. With a capacity of {capacity:,} copies per expert, **{percent_text(dropped)}** "
        f"of the copies are dropped. In one all-to-all the busiest GPU sends {show(sent, BYTE)}; "
        f"with even routing it would be {show(even, BYTE)}."
    )
    facts = (
        plain("imbalance", imbalance, 3),
        plain("capacity of an expert", capacity),
        share("dropped", dropped),
        quantity("sent by the busiest GPU", sent, BYTE),
        quantity("sent with even routing", even, BYTE),
    )
    notice = _notice(values, experts, active, ranks)
    figures = (_loads(unlimited.loads, capacity, summary_of(says)),)
    return Explored(says, facts, figures, notice=notice)


def _notice(values: Values, experts: int, active: int, ranks: int) -> str:
    """What differs from what was asked for, because it does not divide."""
    says = []
    if active != values.count("active"):
        says.append(
            f"A token cannot go to {values.count('active')} of {experts} experts; shown with all."
        )
    if ranks != values.count("ranks"):
        over = "one GPU" if ranks == 1 else f"{ranks} GPUs"
        says.append(
            f"{experts} experts do not divide evenly over {values.count('ranks')} GPUs; shown on "
            f"{over}."
        )
    return " ".join(says)


def _loads(loads: Sequence[int], capacity: int, summary: str) -> Plot:
    """The load of each expert, beside the capacity and the mean."""
    largest_first = sorted(loads, reverse=True)
    ends, mean = (1.0, float(len(loads))), sum(loads) / len(loads)
    return Plot(
        title="Copies sent to each expert",
        summary=summary,
        x=Axis("experts, busiest first", COUNT),
        y=Axis("copies of tokens", COUNT),
        series=(
            Series(
                Color.BLUE,
                "load",
                tuple((float(place), float(load)) for place, load in enumerate(largest_first, 1)),
            ),
            Series(Color.ORANGE, "capacity", tuple((end, float(capacity)) for end in ends)),
            Series(Color.GRAY, "mean", tuple((end, mean) for end in ends)),
        ),
        marks=(LabeledPoint(1.0, float(largest_first[0]), f"{largest_first[0]:,}"),),
    )


def _chosen(tokens: int, experts: int, active: int, skew: float) -> list[list[int]]:
    """The experts of each token; expert e is drawn with weight (e + 1) ** -skew."""
    dice = random.Random(_SEED)
    weights = list(accumulate((place + 1) ** -skew for place in range(experts)))
    everyone = range(experts)
    found = []
    for _ in range(tokens):
        own: set[int] = set()
        while len(own) < active:
            own.update(dice.choices(everyone, cum_weights=weights, k=active - len(own)))
        found.append(sorted(own))
    return found


def _not_the_capacity(values: Values) -> Iterator[tuple[float, str]]:
    """Numbers of copies that are taken for the capacity of an expert."""
    share = values.count("tokens") / values.count("experts")
    yield (
        share * values.number("factor"),
        f"Each token goes to {values.count('active')} experts, so there are as many copies.",
    )
    yield share, "That is the tokens per expert, without their copies and without the factor."


ROUTING = Explorer(
    name="routing",
    title="Which expert overflows?",
    summary="Tokens routed to experts at random: loads, dropped copies, bytes of the all-to-all.",
    question="2,048 tokens, 2 of 8 experts each, capacity factor 1.25: what is the capacity?",
    predicts="capacity of an expert",
    chapter="experts",
    formulas=(
        "sharding.expert_capacity",
        "sharding.expert_imbalance",
        "sharding.expert_all_to_all_bytes",
    ),
    controls=(
        Slider("experts", "Experts", (2, 256), default=8, doubles=True),
        Slider("active", "Experts per token", (1, 8), default=2),
        Slider("tokens", "Tokens", (64, 4096), default=2048, doubles=True),
        Slider("ranks", "GPUs", (1, 64), default=8, doubles=True, aside=True),
        Slider("factor", "Capacity factor", (1, 4), default=1.25, whole=False),
        Slider(
            "skew",
            "Skew of the router (0: even)",
            (0, 2),
            default=0.3,
            whole=False,
            aside=True,
        ),
        Slider("hidden", "Hidden size", (256, 16384), default=4096, doubles=True, aside=True),
    ),
    explore=_routing,
    asks="What is the capacity of an expert, in copies of tokens?",
    foreseen=Foreseen(
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
