"""Which technique lowers which toll (bottleneck)."""

from dataclasses import dataclass

from app.charts.color import Color
from app.charts.drawing import Arrow, Drawing, Rect, Sheet, Words
from app.charts.paper import WIDE, Paper, wrapped
from app.explorers.base import Explored, Explorer, Foreseen, KeyFigure, Values
from app.explorers.controls import Select
from app.translation import noted, translate


@dataclass(frozen=True, slots=True)
class Technique:
    """A technique, the *tolls* that it lowers, its chapter and its paper."""

    name: str
    tolls: tuple[str, ...]
    chapter: str
    paper: str


_TOLLS = {
    "state": ("model state", "weights, gradients, optimizer"),
    "scratchpad": ("activation memory", "kept for the backward pass"),
    "cable": ("communication", "traffic between GPUs"),
    "bubble": ("pipeline bubble", "waiting for a stage"),
    "inch": ("memory bandwidth", "memory to cores"),
}
TECHNIQUES = (
    Technique("ZeRO", ("state",), "memory", "1910.02054"),
    Technique("FSDP", ("state",), "sharding", "2304.11277"),
    Technique("8-bit state", ("state",), "precision", "2110.02861"),
    Technique("tensor parallelism", ("state", "scratchpad"), "tensor", "1909.08053"),
    Technique("recomputation", ("scratchpad",), "memory", "2205.05198"),
    Technique("sequence parallelism", ("scratchpad",), "tensor", "2205.05198"),
    Technique("context parallelism", ("scratchpad",), "meshes", "2310.01889"),
    Technique("hybrid sharding", ("cable",), "sharding", "2304.11277"),
    Technique("overlapping buckets", ("cable",), "overlap", "2006.15704"),
    Technique("accumulation", ("cable", "scratchpad"), "accumulation", "2006.15704"),
    Technique("micro-batches", ("bubble", "state"), "pipelines", "1811.06965"),
    Technique("1F1B", ("scratchpad",), "pipelines", "1806.03377"),
    Technique("zero bubble", ("bubble",), "pipelines", "2401.10241"),
    Technique("FlashAttention", ("inch", "scratchpad"), "attention", "2205.14135"),
)
_BY_NAME = {one.name.lower().replace(" ", "-"): one for one in TECHNIQUES}
_ROW = 29


def _tolls(values: Values) -> Explored:
    chosen = _BY_NAME.get(values.word("technique"))
    drawing = Drawing(
        title=translate("Five tolls (bottlenecks)"),
        summary=translate(
            "Which technique lowers which of five tolls, and which chapter covers it"
        ),
        on=lambda paper: _map(chosen, paper),
        table=(("Technique", "Lowers", "Chapter", "Paper"), *map(_row, TECHNIQUES)),
    )
    if chosen is None:
        return Explored(_says_all(), (), (drawing,))
    names = tuple(_TOLLS[toll][0] for toll in chosen.tolls)
    fact = KeyFigure(
        noted("toll"),
        " and ".join(names),
        among=tuple(name for name, _ in _TOLLS.values()),
        right=names,
    )
    return Explored(_says(chosen), (fact,), (drawing,))


def _says(chosen: Technique) -> str:
    lowered = " and ".join(f"**{_TOLLS[toll][0]}** ({_TOLLS[toll][1]})" for toll in chosen.tolls)
    others = [one for one in TECHNIQUES if one is not chosen and set(one.tolls) & set(chosen.tolls)]
    return (
        f"{chosen.name} lowers {lowered}: {_chapter(chosen, 'the chapter')}, and "
        f"[arXiv:{chosen.paper}](https://arxiv.org/abs/{chosen.paper}). So do "
        f"{', '.join(_chapter(one, one.name) for one in others)}."
    )


def _says_all() -> str:
    lines = [
        f"- **{name}** ({meaning}): "
        + ", ".join(_chapter(one, one.name) for one in TECHNIQUES if toll in one.tolls)
        for toll, (name, meaning) in _TOLLS.items()
    ]
    return "Each technique lowers one or two tolls, and most raise another.\n\n" + "\n".join(lines)


def _chapter(one: Technique, text: str) -> str:
    return f"[{text}](/chapters/{one.chapter})"


def _map(chosen: Technique | None, paper: Paper) -> Sheet:
    """Tolls on the left, techniques on the right, a line where the chosen one lowers the other."""
    height = 16 + len(TECHNIQUES) * _ROW
    wide = paper is WIDE
    box, right = (190, 350) if wide else (128, 190)
    heights = {
        toll: round(height / len(_TOLLS) * (place + 0.5)) for place, toll in enumerate(_TOLLS)
    }
    rects, arrows, words = [], [], []
    for toll, (name, meaning) in _TOLLS.items():
        lit, y = chosen is None or toll in chosen.tolls, heights[toll] - 22
        color, says = Color.BLUE if lit else Color.PALE, f"{name}: {meaning}"
        rects.append(Rect(1, y, box, 44, color=color, label="", says=says, outlined=True))
        short = meaning if wide else wrapped(meaning, box - 6)[0]
        words.append(Words(box / 2, y + 19, name, anchor="middle", strong=lit))
        words.append(Words(box / 2, y + 35, short.rstrip(","), anchor="middle", quiet=True))
    for place, one in enumerate(TECHNIQUES):
        lit, y = chosen in (None, one), 20 + place * _ROW
        color = Color.GRAY if chosen is None else Color.BLUE
        if lit:
            arrows += [
                Arrow(box + 2, heights[toll], right, y, color=color, head=False)
                for toll in one.tolls
            ]
        words.append(Words(right + 6, y + 4, one.name, strong=chosen is one, quiet=not lit))
        if wide:
            words.append(Words(568, y + 4, f"chapter “{one.chapter}”", quiet=True))
    return Sheet(height=height, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))


def _row(one: Technique) -> tuple[str, ...]:
    tolls = ", ".join(_TOLLS[toll][0] for toll in one.tolls)
    return one.name, tolls, one.chapter, f"arXiv:{one.paper}"


def _not_the_toll(chosen: str) -> str:
    meaning = next(meaning for name, meaning in _TOLLS.values() if name == chosen)
    return f"{chosen[:1].upper()}{chosen[1:]} is {meaning}."


TOLLS = Explorer(
    name="tolls",
    title=noted("Which bottleneck does it lower?"),
    summary=noted(
        "Fourteen techniques, the tolls (bottlenecks) that each lowers, and its chapter."
    ),
    question=noted("Which of the five tolls of a training step does ZeRO lower?"),
    predicts=noted("toll"),
    chapter="diagnosis",
    formulas=("memory.memory_budget",),
    controls=(
        Select(
            "technique",
            noted("Technique"),
            {name: one.name for name, one in _BY_NAME.items()} | {"all": "all of them"},
        ),
    ),
    explore=_tolls,
    asks=noted("Which of the five tolls of a training step does this technique lower?"),
    foreseen=Foreseen(chosen=_not_the_toll),
)
