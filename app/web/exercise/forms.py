"""What the learner answers with, as templates take it: one class a kind of exercise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.kinds import Exercise, PartVerdict
from app.kinds.choice import ChoiceQuestion
from app.kinds.code.buggy_line import BuggyLineQuestion
from app.kinds.code.feedback import Example, FunctionQuestion
from app.kinds.design import DesignQuestion, KnobRow
from app.kinds.expression import ExpressionQuestion, SymbolRow
from app.kinds.lab import CAUSE, LabQuestion
from app.kinds.match import MatchQuestion, Side
from app.kinds.numeric import ONLY, Box, NumericQuestion
from app.kinds.order import Item, OrderQuestion
from app.markdown import inline_html, python_html

Given = Mapping[str, Sequence[str]]  # the fields of a posted form


@dataclass(frozen=True, slots=True)
class BoxView:
    """One number to type; *correct* is None before it is judged."""

    field: str
    label: Markup
    unit: str
    tolerance: str
    value: str
    correct: bool | None
    says: Markup


@dataclass(frozen=True, slots=True)
class OptionView:
    """One option."""

    key: str
    text: Markup
    chosen: bool


@dataclass(frozen=True, slots=True)
class ThingView:
    """One thing that needs a partner; *correct* is None before it is judged."""

    field: str
    text: Markup
    chosen: str
    correct: bool | None


@dataclass(frozen=True, slots=True)
class KnobView:
    """One thing to choose."""

    field: str
    says: Markup
    among: tuple[str, ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class SymbolView:
    """A letter of a formula."""

    name: str
    says: Markup
    unit: str


@dataclass(frozen=True, slots=True)
class ItemView:
    """One thing to put in order."""

    key: str
    text: Markup
    place: str


@dataclass(frozen=True, slots=True)
class LineView:
    """One line of a listing."""

    number: int
    html: Markup
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of one exercise; only those of its kind are filled."""

    boxes: tuple[BoxView, ...] = ()
    options: tuple[OptionView, ...] = ()
    many: bool = False
    things: tuple[ThingView, ...] = ()
    partners: tuple[Side, ...] = ()
    knobs: tuple[KnobView, ...] = ()
    symbols: tuple[SymbolView, ...] = ()
    unit: str = ""
    items: tuple[ItemView, ...] = ()
    strangers: bool = False
    lines: tuple[LineView, ...] = ()
    entry: str = ""
    source: str = ""
    starter: str = ""
    examples: tuple[Example, ...] = ()


def form_of(exercise: Exercise, seed: int, given: Given, parts: Mapping[str, PartVerdict]) -> Form:
    """The form of *exercise*, with what was *given* before."""
    question = exercise.question(seed)
    match question:
        case NumericQuestion(boxes):
            return Form(boxes=tuple(_box(box, given, parts) for box in boxes))
        case MatchQuestion(things, partners):
            return Form(things=tuple(_thing(t, given, parts) for t in things), partners=partners)
        case DesignQuestion(knobs):
            return Form(knobs=tuple(_knob(knob, given) for knob in knobs))
        case OrderQuestion(items, strangers):
            return Form(items=_items(items, given), strangers=strangers)
        case LabQuestion(boxes, cause):
            chosen = _first(given, f"answer.{CAUSE}")
            views = tuple(
                OptionView(o.key, inline_html(o.text.strip()), o.key == chosen)
                for o in cause.options
            )
            return Form(boxes=tuple(_box(box, given, parts) for box in boxes), options=views)
    return _form_of_one(question, given)


def _form_of_one(question: object, given: Given) -> Form:
    """The form of a question that is answered in one field."""
    match question:
        case ChoiceQuestion(options, many):
            chosen = given.get("answer", ())
            views = (
                OptionView(o.key, inline_html(o.text.strip()), o.key in chosen) for o in options
            )
            return Form(options=tuple(views), many=many)
        case ExpressionQuestion(symbols, unit):
            views_of = tuple(map(_symbol, symbols))
            return Form(symbols=views_of, unit=unit, source=_first(given, "answer"))
        case BuggyLineQuestion(lines):
            return Form(lines=_lines(lines, _first(given, "answer")))
        case FunctionQuestion(entry, starter, examples):
            source = _first(given, "answer") or starter
            return Form(entry=entry, source=source, starter=starter, examples=examples)
    raise TypeError(f"no form for {type(question).__name__}")


def _box(box: Box, given: Given, parts: Mapping[str, PartVerdict]) -> BoxView:
    field = "answer" if box.name == ONLY else f"answer.{box.name}"
    part = parts.get(box.name, PartVerdict(None, ""))
    label = inline_html(box.prompt.strip()) if box.prompt else Markup("Your answer")
    return BoxView(
        field,
        label,
        box.unit,
        box.tolerance,
        _first(given, field),
        part.correct,
        inline_html(part.says.strip()),
    )


def _thing(thing: Side, given: Given, parts: Mapping[str, PartVerdict]) -> ThingView:
    field = f"answer.{thing.key}"
    part = parts.get(thing.key, PartVerdict(None, ""))
    return ThingView(field, inline_html(thing.text.strip()), _first(given, field), part.correct)


def _knob(row: KnobRow, given: Given) -> KnobView:
    field = f"answer.{row.name}"
    return KnobView(field, inline_html(row.says.strip()), row.among, _first(given, field))


def _symbol(row: SymbolRow) -> SymbolView:
    return SymbolView(row.name, inline_html(row.says.strip()), row.unit)


def _items(items: Sequence[Item], given: Given) -> tuple[ItemView, ...]:
    """The things in the order given, then those left out."""
    order = list(given.get("answer", ()))
    views = [
        ItemView(
            item.key,
            inline_html(item.text.strip()),
            str(order.index(item.key) + 1)
            if item.key in order
            else _first(given, f"place.{item.key}"),
        )
        for item in items
    ]
    if order:
        views.sort(key=lambda view: order.index(view.key) if view.key in order else len(order))
    return tuple(views)


def _lines(lines: Sequence[str], chosen: str) -> tuple[LineView, ...]:
    highlighted = str(python_html("\n".join(lines))).split("\n")
    return tuple(
        LineView(number, Markup(html), text, str(number) == chosen.strip())
        for number, (html, text) in enumerate(zip(highlighted, lines, strict=False), 1)
    )


def _first(given: Given, field: str) -> str:
    return next(iter(given.get(field, ())), "")
