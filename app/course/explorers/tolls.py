"""Which technique lowers which toll (bottleneck)."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.charts.color import Color
from app.core.charts.diagram import Arrow, Drawing, Rect, Sheet, Words
from app.core.charts.paper import WIDE, Paper, wrapped
from app.core.translation import noted, translate, translate_known
from app.course.explorers.base import Explored, Explorer, Foreseen, KeyFigure, Values
from app.course.explorers.controls import Select


@dataclass(frozen=True, slots=True)
class Technique:
    """A technique, the *tolls* that it lowers, its chapter and its paper."""

    name: str
    tolls: tuple[str, ...]
    chapter: str
    paper: str


_TOLLS = {
    "state": (noted("model state"), noted("weights, gradients, optimizer")),
    "scratchpad": (noted("activation memory"), noted("kept for the backward pass")),
    "cable": ("communication", noted("traffic between GPUs")),
    "bubble": (noted("pipeline bubble"), noted("waiting for a stage")),
    "inch": (noted("memory bandwidth"), noted("memory to cores")),
}
TECHNIQUES = (
    Technique("ZeRO", ("state",), "memory", "1910.02054"),
    Technique("FSDP", ("state",), "sharding", "2304.11277"),
    Technique(noted("8-bit state"), ("state",), "precision", "2110.02861"),
    Technique(noted("tensor parallelism"), ("state", "scratchpad"), "tensor", "1909.08053"),
    Technique(noted("recomputation"), ("scratchpad",), "memory", "2205.05198"),
    Technique(noted("sequence parallelism"), ("scratchpad",), "tensor", "2205.05198"),
    Technique(noted("context parallelism"), ("scratchpad",), "meshes", "2310.01889"),
    Technique(noted("hybrid sharding"), ("cable",), "sharding", "2304.11277"),
    Technique(noted("overlapping buckets"), ("cable",), "overlap", "2006.15704"),
    Technique(noted("accumulation"), ("cable", "scratchpad"), "accumulation", "2006.15704"),
    Technique(noted("micro-batches"), ("bubble", "state"), "pipelines", "1811.06965"),
    Technique("1F1B", ("scratchpad",), "pipelines", "1806.03377"),
    Technique(noted("zero bubble"), ("bubble",), "pipelines", "2401.10241"),
    Technique("FlashAttention", ("inch", "scratchpad"), "attention", "2205.14135"),
)
_BY_NAME = {one.name.lower().replace(" ", "-"): one for one in TECHNIQUES}
_ROW = 29


def _tolls(values: Values) -> Explored:
    chosen = _BY_NAME.get(values.word("technique"))
    drawing = Drawing(
        title=translate("Five tolls (bottlenecks)"),
        summary=translate("Which technique lowers which of five tolls, and which chapter covers it"),
        on=lambda paper: _map(chosen, paper),
        table=(
            (translate("Technique"), translate("Lowers"), translate("Chapter"), translate("Paper")),
            *map(_tolls_row, TECHNIQUES),
        ),
    )
    if chosen is None:
        return Explored(_says_all(), (), (drawing,))
    names = tuple(translate(_TOLLS[toll][0]) for toll in chosen.tolls)
    fact = KeyFigure(
        noted("toll"), translate(" and ").join(names), among=tuple(name for name, _ in _TOLLS.values()), right=names
    )
    return Explored(_says(chosen), (fact,), (drawing,))


def _says(chosen: Technique) -> str:
    lowered = translate(" and ").join(
        f"**{translate(_TOLLS[toll][0])}** ({translate(_TOLLS[toll][1])})" for toll in chosen.tolls
    )
    others = [one for one in TECHNIQUES if one is not chosen and set(one.tolls) & set(chosen.tolls)]
    return translate(
        "{name} lowers {lowered}: {chapter}, and [arXiv:{paper}](https://arxiv.org/abs/{paper}). So do {others}.",
        name=translate_known(chosen.name),
        lowered=lowered,
        chapter=_chapter(chosen, translate("the chapter")),
        paper=chosen.paper,
        others=", ".join(_chapter(one, translate_known(one.name)) for one in others),
    )


def _says_all() -> str:
    lines = [
        f"- **{translate(name)}** ({translate(meaning)}): "
        + ", ".join(_chapter(one, translate_known(one.name)) for one in TECHNIQUES if toll in one.tolls)
        for toll, (name, meaning) in _TOLLS.items()
    ]
    return translate("Each technique lowers one or two tolls, and most raise another.\n\n") + "\n".join(lines)


def _chapter(one: Technique, text: str) -> str:
    return f"[{text}](/chapters/{one.chapter})"


def _map(chosen: Technique | None, paper: Paper) -> Sheet:
    """Tolls on the left, techniques on the right, a line where the chosen one lowers the other."""
    height = 16 + len(TECHNIQUES) * _ROW
    wide = paper is WIDE
    box, right = (190, 350) if wide else (128, 190)
    heights = {toll: round(height / len(_TOLLS) * (place + 0.5)) for place, toll in enumerate(_TOLLS)}
    rects, arrows, words = [], [], []
    for toll, (name, meaning) in _said().items():
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
            arrows += [Arrow(box + 2, heights[toll], right, y, color=color, head=False) for toll in one.tolls]
        words.append(Words(right + 6, y + 4, one.name, strong=chosen is one, quiet=not lit))
        if wide:
            words.append(Words(568, y + 4, translate("chapter “{chapter}”", chapter=one.chapter), quiet=True))
    return Sheet(height=height, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))


def _said() -> Mapping[str, tuple[str, str]]:
    """The tolls in words."""
    return {toll: (translate(name), translate(says)) for toll, (name, says) in _TOLLS.items()}


def _tolls_row(one: Technique) -> tuple[str, ...]:
    tolls = ", ".join(translate(_TOLLS[toll][0]) for toll in one.tolls)
    return one.name, tolls, one.chapter, f"arXiv:{one.paper}"


def _not_the_toll(chosen: str) -> str:
    meaning = next(meaning for name, meaning in _said().values() if name == chosen)
    return translate("{upper}{chosen} is {meaning}.", upper=chosen[:1].upper(), chosen=chosen[1:], meaning=meaning)


TOLLS = Explorer(
    name="tolls",
    title=noted("Which bottleneck does it lower?"),
    summary=noted("Fourteen techniques, the tolls (bottlenecks) that each lowers, and its chapter."),
    question=noted("Which of the five tolls of a training step does ZeRO lower?"),
    predicts=noted("toll"),
    chapter="diagnosis",
    formulas=("memory.memory_budget",),
    controls=(
        Select(
            "technique",
            noted("Technique"),
            {name: one.name for name, one in _BY_NAME.items()} | {"all": noted("all of them")},
        ),
    ),
    explore=_tolls,
    asks=noted("Which of the five tolls of a training step does this technique lower?"),
    foreseen=Foreseen(chosen=_not_the_toll),
)
