"""The picture of a page, as shown where its address is shared: SVG that a plain renderer draws."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from textwrap import wrap

from markupsafe import Markup

from app.core.charts.paper import CARDS, LETTER, WIDE, Paper, wrapped
from app.core.charts.svg import Figure, to_svg
from app.core.templating import template_environment

WIDTH, HEIGHT = 1200, 630
_EDGE, _TOP, _FOOT = 64, 104, 34  # pixels: at the sides, above the title, below all
_FLOOR = 550  # pixels from the top that words may reach
_INSIDE = WIDTH - 2 * _EDGE
_LEADING = 1.24  # of the size of the letters, from line to line
_KICKER, _SMALL = 800, 24  # pixels: beside the name of the site, and its letters
_MONO = 0.6  # width of a letter of code, of its size
_LARGEST = 3.4  # times; a small figure is not enlarged more

_PALETTE = re.compile(r"(?<![\w-])--([\w-]++): (#\w++);")
_RULE = re.compile(r"(?<![^{}])([^{}]++)\{([^{}]*+)\}")
_FAMILY = re.compile(r"\[class[\^*]=([a-z])-\]")
_TONE = "var(--tone)"
_TONED = re.compile(r"\b[kosp]-\w+")  # a class with a tone
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")
_HEIGHT = re.compile(r'height="([\d.]+)"')
# Exponents whose letters the fonts do not have: ² and ³ they have.
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]*[⁰⁴⁵⁶⁷⁸⁹⁻][⁰¹²³⁴⁵⁶⁷⁸⁹⁻]*")
_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


@dataclass(frozen=True, slots=True)
class EmblemPath:
    """A path that is filled with a *color* of the palette, or drawn as a line of some *stroke*."""

    color: str
    path: str
    stroke: float = 0.0


@dataclass(frozen=True, slots=True)
class Emblem:
    """A few paths on a small sheet, which are drawn large."""

    width: float
    height: float
    paths: tuple[EmblemPath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureCard:
    """What stands on the picture of a page: words, and a figure or an emblem if the page has one.

    *key* is a few large letters, struck out if it is *wrong*; *code* are lines of a formula.
    """

    kicker: str
    title: str
    says: str = ""
    key: str = ""
    wrong: bool = False
    code: str = ""
    figure: Figure | None = None
    emblem: Emblem | None = None

    @property
    def alt(self) -> str:
        """What is seen, in words."""
        parts = (self.kicker, self.key, self.title, self.code, self.says)
        return " ".join(part if part.endswith((".", "?")) else f"{part}." for part in parts if part)


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text with its size and its class, in pixels from the top."""

    y: float
    size: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _CardText:
    """A text of a card: the sizes to try, the most lines, and the room above it."""

    kind: str
    text: str
    sizes: tuple[int, ...]
    lines: int
    above: int

    def set_below(self, y: float) -> tuple[TextLine, ...]:
        """Its lines, below *y*; cut off with an ellipsis if even the smallest size is too large."""
        for size in self.sizes:
            lines, most = self._broken(size), self._most(size, y)
            if len(lines) <= most:
                break
        else:
            lines = (*lines[: most - 1], f"{lines[most - 1].rstrip('.,;: ')} …")
        step = size * _LEADING
        return tuple(
            TextLine(round(y + self.above + size + n * step, 1), size, self.kind, line) for n, line in enumerate(lines)
        )

    def _most(self, size: int, y: float) -> int:
        """How many lines there may be, which end above the foot."""
        return max(1, min(self.lines, int((_FLOOR - y - self.above) / (size * _LEADING))))

    def _broken(self, size: int) -> tuple[str, ...]:
        if self.kind == "code":
            long = round(_INSIDE / (_MONO * size))
            return tuple(part for line in self.text.splitlines() for part in wrap(line, long))
        return wrapped(self.text, _INSIDE * LETTER / size)


def card_svg(card: PictureCard) -> str:
    """*card* as SVG without CSS variables, which few renderers know."""
    lines = tuple(_lines(card))
    bottom = lines[-1].y if lines else _TOP
    drawing, place = _drawn(card, bottom + 26)
    text = (
        _templates()
        .get_template("figures/card.svg")
        .render(
            card=card,
            kicker=_short(card.kicker),
            lines=lines,
            style=_style(frozenset(_TONED.findall(drawing))),
            drawing=drawing,
            place=place,
        )
    )
    colored = _VARIABLE.sub(lambda match: _palette()[match[1]], text)
    return _RAISED.sub(lambda match: f"^{match[0].translate(_LOWERED)}", colored.replace("◀", "←"))


def _lines(card: PictureCard) -> Iterator[TextLine]:
    alone = card.figure is None and card.emblem is None
    title = (66, 58, 50) if alone and not card.key else (50, 42, 36)
    y = float(_TOP)
    for part in (
        _CardText("key", card.key, (120, 96, 76, 60, 46), 1, 16),
        _CardText("title", card.title, title, 2, 8),
        _CardText("code", card.code, (42, 36, 31, 26, 22), 6, 34),
        _CardText("says", card.says, (42, 36, 32, 28) if alone else (26,), 6 if alone else 2, 18),
    ):
        if part.text:
            lines = part.set_below(y)
            yield from lines
            y = lines[-1].y + 0.24 * lines[-1].size


def _short(kicker: str) -> str:
    """As much of *kicker* as fits beside the name of the site."""
    first, *rest = wrapped(kicker, _KICKER * LETTER / _SMALL) or ("",)
    return f"{first.rstrip(',')} …" if rest else first


def _drawn(card: PictureCard, top: float) -> tuple[Markup, str]:
    """The figure or the emblem of *card* below *top*, and its place."""
    if card.figure:
        return _placed(card.figure, top)
    if card.emblem is None:
        return Markup(""), ""
    svg = _templates().get_template("figures/emblem.svg").render(emblem=card.emblem)
    wide, high = card.emblem.width, card.emblem.height
    scale = min(_INSIDE / wide, (HEIGHT - _FOOT - top) / high)
    x = _EDGE + (_INSIDE - scale * wide) / 2
    return Markup(svg), f"translate({x:.1f} {top:.1f}) scale({scale:.3f})"


def _placed(figure: Figure, top: float) -> tuple[Markup, str]:
    """*figure*, on the paper that makes its letters largest, and its place below *top*."""
    drawn = [(paper, to_svg(figure, alone=False, paper=paper)) for paper in (*CARDS, WIDE)]
    fitted = ((*_fitted(paper, svg, top), svg) for paper, svg in drawn)
    scale, width, height, svg = max(fitted, key=lambda one: (round(one[0], 1), one[1]))
    x = _EDGE + (_INSIDE - scale * width) / 2
    y = top + (HEIGHT - _FOOT - top - scale * height) / 2
    return Markup(svg), f"translate({x:.1f} {y:.1f}) scale({scale:.3f})"


def _fitted(paper: Paper, svg: str, top: float) -> tuple[float, float, float]:
    """How much *svg* can be enlarged below *top*; its width and height."""
    found = _HEIGHT.search(svg)
    if found is None:
        raise ValueError("the figure has no height")
    height = float(found[1])
    scale = min(_INSIDE / paper.width, (HEIGHT - _FOOT - top) / height, _LARGEST)
    return scale, float(paper.width), height


@cache
def _palette() -> dict[str, str]:
    """The colors on white, by the name of the variable."""
    light, _, _ = _source("palette").partition("@media")
    return dict(_PALETTE.findall(light))


@lru_cache(maxsize=64)
def _style(used: frozenset[str]) -> Markup:
    """The style sheet of figures with a rule for each tone that is *used*, instead of a variable.

    Every rule is held against every part of the figure, so those that are not needed are left out.
    """
    sheet = _source("style").partition("</style>")[0].removeprefix("<style>\n")
    source = sheet.replace(_source("palette"), "")
    rules = [(head.strip(), body.strip()) for head, body in _RULE.findall(source)]
    tones = {
        name.strip().removeprefix("."): _VARIABLE.sub(lambda m: _palette()[m[1]], body)
        for head, body in rules
        if body.startswith("--tone")
        for name in head.split(",")
    }
    colors = {name: body.partition(": ")[2].rstrip(";") for name, body in tones.items() if name in used}
    made = (
        f"{selector} {{ {body.replace(_TONE, color)} }}"
        for head, body in rules
        if head != "svg" and not body.startswith("--tone")
        for selector, color in _selected(head, body, colors)
    )
    return Markup("\n".join(made))  # from our own template


def _selected(head: str, body: str, colors: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The selectors of a rule, each with the color that its tone has there."""
    for selector in map(str.strip, head.split(",")):
        family = _FAMILY.search(selector)
        bare = _FAMILY.sub("", selector)
        fixed = selector.rpartition(".")[2]
        if _TONE not in body and family is None:
            yield selector, ""
        elif fixed in colors:
            yield selector, colors[fixed]
        elif _TONED.fullmatch(fixed):
            continue
        else:
            for name, color in colors.items():
                if family is None or name.startswith(f"{family[1]}-"):
                    yield f"{bare}.{name}", color


def _source(name: str) -> str:
    return _templates().get_template(f"figures/{name}.svg").render()


_templates = cache(template_environment)
