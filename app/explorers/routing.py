"""Tokens sent to experts: who gets too many, what is dropped, what is sent."""

import random
from itertools import accumulate

from app.charts.axes import Axis, percent_text
from app.charts.plot import LabeledPoint, Plot, Series
from app.explorers.base import Explored, Explorer, Values, plain, quantity, share
from app.explorers.controls import Slider
from app.formulas.sharding import expert_all_to_all_bytes, expert_capacity, expert_imbalance
from app.simulators.sharding.routing import route
from app.units import BYTE, COUNT, show

_ELEMENT = 2  # bytes of a number
_SEED = 1


def _routing(values: Values) -> Explored:
    experts, active = values.count("experts"), values.count("active")
    ranks, tokens = values.count("ranks"), values.count("tokens")
    if active > experts:
        raise ValueError(f"a token cannot go to {active} of {experts} experts")
    if experts % ranks:
        raise ValueError(f"{experts} experts do not divide over {ranks} GPUs")
    chosen = _chosen(tokens, experts, active, values.number("skew"))
    per_rank = -(-tokens // ranks)
    dealt = [chosen[at : at + per_rank] for at in range(0, tokens, per_rank)]
    dealt += [[] for _ in range(ranks - len(dealt))]
    room = expert_capacity(tokens, experts, active, values.number("factor"))
    wanted, taken = route(dealt, experts), route(dealt, experts, room)
    copies = tokens * active
    imbalance = expert_imbalance([float(load) for load in wanted.loads])
    hidden = values.count("hidden")
    sent = max(taken.sent) * hidden * _ELEMENT
    even = expert_all_to_all_bytes(per_rank, hidden, active, float(_ELEMENT), ranks)
    says = (
        f"The fullest expert gets **{imbalance:.3g} times** the mean, and everybody waits for it. "
        f"With room for {room:,} copies each, **{percent_text(taken.dropped / copies)}** of them "
        f"are dropped. The busiest GPU sends {show(sent, BYTE)} on the way there; spread evenly "
        f"it would be {show(even, BYTE)}."
    )
    facts = (
        plain("imbalance", imbalance, 3),
        plain("room of an expert", room),
        share("dropped", taken.dropped / copies),
        quantity("sent by the busiest GPU", sent, BYTE),
        quantity("sent when even", even, BYTE),
    )
    loads = sorted(wanted.loads, reverse=True)
    curve = tuple((float(place), float(load)) for place, load in enumerate(loads, 1))
    ends = (1.0, float(experts))
    plot = Plot(
        "Copies that each expert is sent",
        says.replace("*", ""),
        Axis("experts, the busiest first", COUNT),
        Axis("copies of tokens", COUNT),
        (
            Series("f", "load", curve),
            Series("b", "room", tuple((end, float(room)) for end in ends)),
            Series("i", "mean", tuple((end, copies / experts) for end in ends)),
        ),
        (LabeledPoint(1.0, float(loads[0]), f"{loads[0]:,}"),),
    )
    return Explored(says, facts, (plot,))


def _chosen(tokens: int, experts: int, active: int, skew: float) -> list[list[int]]:
    """Different experts for each token; expert e is liked as much as (e + 1) ** -skew."""
    dice = random.Random(_SEED)
    ladder = list(accumulate((place + 1) ** -skew for place in range(experts)))
    everyone = range(experts)
    found = []
    for _ in range(tokens):
        own: set[int] = set()
        while len(own) < active:
            own.update(dice.choices(everyone, cum_weights=ladder, k=active - len(own)))
        found.append(sorted(own))
    return found


ROUTING = Explorer(
    "routing",
    "Which expert is full?",
    "Tokens routed to experts by chance: loads, what has no room, and the bytes of the all-to-all.",
    "2,048 tokens, 2 of 8 experts each, room for 1.25 times the mean: what fits one expert?",
    "room of an expert",
    "experts",
    ("sharding.expert_capacity", "sharding.expert_imbalance", "sharding.expert_all_to_all_bytes"),
    (
        Slider("experts", "Experts", 2, 256, 8, doubles=True),
        Slider("active", "Experts of a token", 1, 8, 2),
        Slider("tokens", "Tokens", 64, 4096, 2048, doubles=True),
        Slider("ranks", "GPUs", 1, 64, 8, doubles=True, aside=True),
        Slider("factor", "Room over the mean", 1, 4, 1.25, whole=False),
        Slider("skew", "Skew of the router (0: all alike)", 0, 2, 0.3, whole=False, aside=True),
        Slider("hidden", "Width of the model", 256, 16384, 4096, doubles=True, aside=True),
    ),
    _routing,
    "How many copies of tokens fit one expert?",
)
