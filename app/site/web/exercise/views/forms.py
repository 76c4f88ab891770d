"""Kinds whose form is a few fields: boxes, options, lists, lines, knobs, plans, and an editor."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from app.core.translation import localize, translate, unit_word
from app.course.kinds.base import Option
from app.course.kinds.choice import Choice
from app.course.kinds.code.buggy_line import BuggyLine
from app.course.kinds.code.function import Example, Function
from app.course.kinds.design import Design
from app.course.kinds.expression import Expression, SymbolRow
from app.course.kinds.numeric import ONLY, Box, Numeric
from app.course.kinds.order import Match, Order
from app.course.kinds.sharding import MOVES, PLAN, THEN, Sharding
from app.course.sandbox.pool import SandboxHealth
from app.course.sandbox.runner import Runner
from app.site.markdown import python_html
from app.site.web.exercise import views
from app.site.web.exercise.page_context import ActionResult, Fields, PostedForm, first_value


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxView:
    """One number to type; *correct* is None before it is judged."""

    field: str
    label: Markup
    unit: str
    value: str
    correct: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericForm(views.Form):
    """The boxes."""

    boxes: tuple[BoxView, ...]

    @property
    def marks(self) -> Mapping[str, bool]:
        """The verdict on each box."""
        return marks_of(self.boxes)


class NumericView(views.KindView[Numeric]):
    """One box, or several with a verdict on each."""

    def form(self, exercise: Numeric, filled: views.FormInput) -> NumericForm:
        """The boxes, with what was typed."""
        return NumericForm(boxes=tuple(box_views(exercise.question(filled.seed).fields, filled)))

    def told(self, exercise: Numeric, seed: int, stored: str) -> Iterator[Markup]:
        """What was typed into each box."""
        texts = views.stored_names(stored) if exercise.answers else {}
        for name, text in texts.items():
            title = views.inline(exercise.title_of(name, seed)) if name in exercise.answers else views.typed_line(name)
            yield views.answer_line(title, views.typed_line(text))
        if not texts:
            yield views.typed_line(stored)


def box_views(boxes: Sequence[Box], filled: views.FormInput) -> Iterator[BoxView]:
    """*boxes* with what was typed into them."""
    for box in boxes:
        field = "answer" if box.name == ONLY else f"answer.{box.name}"
        yield BoxView(
            field=field,
            label=views.inline(box.prompt) if box.prompt else Markup(translate("Your answer")),
            unit=unit_word(box.unit),
            value=first_value(filled.given, field),
            correct=filled.correct if box.name == ONLY else filled.is_right(box.name),
        )


def marks_of(boxes: Iterable[BoxView]) -> Mapping[str, bool]:
    """The verdict on each of *boxes*, by its field."""
    return {box.field: box.correct for box in boxes if box.correct is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionForm(views.Form):
    """The symbols, and the formula that was typed."""

    symbols: tuple[SymbolRow, ...]
    unit: str
    source: str
    correct: bool | None

    @property
    def marks(self) -> Mapping[str, bool]:
        """The verdict on the formula."""
        return {} if self.correct is None else {"answer": self.correct}


class ExpressionView(views.KindView[Expression]):
    """A table of the symbols, and a box for the formula."""

    def form(self, exercise: Expression, filled: views.FormInput) -> ExpressionForm:
        """The symbols, and the formula that was typed."""
        question = exercise.question(filled.seed)
        return ExpressionForm(
            symbols=question.symbols,
            unit=unit_word(question.unit),
            source=first_value(filled.given, "answer"),
            correct=filled.correct,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceForm(views.Form):
    """The options, and the keys of those that are *chosen*; *many* when any number of them may be."""

    options: tuple[Option, ...]
    chosen: Sequence[str]
    many: bool


class ChoiceView(views.KindView[Choice]):
    """Radio buttons, or check boxes."""

    def form(self, exercise: Choice, filled: views.FormInput) -> ChoiceForm:
        """The options, and which are chosen."""
        question = exercise.question(filled.seed)
        chosen = filled.given.get("answer", ())
        return ChoiceForm(options=question.options, chosen=chosen, many=question.many)

    def told(self, exercise: Choice, seed: int, stored: str) -> Iterator[Markup]:
        """The options that were chosen."""
        drawn = exercise.draw(seed)
        for key in views.stored_list(stored) or [stored]:
            option = exercise.options.get(key)
            yield views.inline(exercise.fill(option.text, drawn)) if option else views.typed_line(key)


@dataclass(frozen=True, slots=True)
class ItemView:
    """One thing to put in order; *place* is empty until it has one."""

    key: str
    text: Markup
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderForm(views.Form):
    """The things; *strangers* when some of them do not belong."""

    items: tuple[ItemView, ...]
    strangers: bool
    script: str = "order.js"


class OrderView(views.KindView[Order]):
    """A list to put in order, by dragging or with numbers."""

    def form(self, exercise: Order, filled: views.FormInput) -> OrderForm:
        """The things in the order that was sent."""
        question = exercise.question(filled.seed)
        items = _items(question.items, filled.given)
        return OrderForm(items=items, strangers=question.strangers)

    def told(self, exercise: Order, seed: int, stored: str) -> Iterator[Markup]:
        """The statements in the order that was sent."""
        items = {item.key: item.text for item in exercise.question(seed).items}
        keys = views.stored_list(stored)
        for place, key in enumerate(keys, 1):
            yield Markup(f"{place}. ") + (views.inline(items[key]) if key in items else views.typed_line(key))
        if not keys:
            yield views.typed_line(stored)


def _items(items: Sequence[Option], given: Fields) -> tuple[ItemView, ...]:
    """The things in the order given, then those left out."""
    order = list(given.get("answer", ()))
    shown = []
    for item in items:
        typed = first_value(given, f"place.{item.key}")
        place = str(order.index(item.key) + 1) if item.key in order else typed
        shown.append(ItemView(item.key, views.inline(item.text), place))
    if order:
        shown.sort(key=lambda view: order.index(view.key) if view.key in order else len(order))
    return tuple(shown)


@dataclass(frozen=True, slots=True)
class ListField:
    """A list to choose from, after a *text*; *correct* is None before it is judged."""

    field: str
    text: Markup
    chosen: str
    correct: bool | None = None
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchForm(views.Form):
    """The things, and the partners to choose from."""

    things: tuple[ListField, ...]
    partners: tuple[Option, ...]

    @property
    def marks(self) -> Mapping[str, bool]:
        """The verdict on each partner that was chosen."""
        return {one.field: one.correct for one in self.things if one.correct is not None}


class MatchView(views.KindView[Match]):
    """A list of partners for each thing, with a verdict on each."""

    def form(self, exercise: Match, filled: views.FormInput) -> MatchForm:
        """The things, with the partners that were chosen."""
        question = exercise.question(filled.seed)
        things = [(f"answer.{one.key}", one) for one in question.things]
        return MatchForm(
            things=tuple(
                ListField(field, views.inline(one.text), first_value(filled.given, field), filled.is_right(one.key))
                for field, one in things
            ),
            partners=question.partners,
        )

    def told(self, exercise: Match, seed: int, stored: str) -> Iterator[Markup]:
        """Each thing with the partner that was chosen."""
        drawn, texts = exercise.draw(seed), views.stored_names(stored)
        for key, chosen in texts.items():
            thing, partner = exercise.things.get(key), exercise.partners.get(chosen)
            left = views.inline(exercise.fill(thing.text, drawn)) if thing else views.typed_line(key)
            right = views.inline(exercise.fill(partner, drawn)) if partner else views.typed_line(chosen)
            yield left + " → " + right
        if not texts:
            yield views.typed_line(stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuggyLineForm(views.Form):
    """The lines to choose from."""

    lines: tuple[tuple[int, Markup, str, bool], ...]  # numbers, as HTML and as text, and whether they are chosen
    has_code: bool = True


class BuggyLineView(views.KindView[BuggyLine]):
    """A listing whose lines are radio buttons."""

    def form(self, exercise: BuggyLine, filled: views.FormInput) -> BuggyLineForm:
        """The listing, and the line that was chosen."""
        lines, chosen = exercise.question(filled.seed).lines, first_value(filled.given, "answer").strip()
        highlighted = python_html("\n".join(lines)).split("\n")
        both = enumerate(zip(highlighted, lines, strict=False), 1)
        return BuggyLineForm(lines=tuple((number, html, text, str(number) == chosen) for number, (html, text) in both))

    def told(self, exercise: BuggyLine, seed: int, stored: str) -> Iterator[Markup]:
        """The line that was chosen, with its number."""
        lines = dict(enumerate(exercise.question(seed).lines, 1))
        known = next((text for n, text in lines.items() if str(n) == stored.strip()), None)
        yield (
            views.typed_line(stored) if known is None else Markup(f"line {stored.strip()}: ") + views.typed_line(known)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignForm(views.Form):
    """The things to choose."""

    knobs: tuple[ListField, ...]


class DesignView(views.KindView[Design]):
    """A list of values for each thing to choose."""

    def form(self, exercise: Design, filled: views.FormInput) -> DesignForm:
        """The things to choose, with the values that were chosen."""
        knobs = [(f"answer.{row.name}", row) for row in exercise.question(filled.seed).knobs]
        return DesignForm(
            knobs=tuple(
                ListField(field, views.inline(row.says), first_value(filled.given, field), among=row.among)
                for field, row in knobs
            )
        )

    def told(self, exercise: Design, seed: int, stored: str) -> Iterator[Markup]:
        """Each value that was chosen."""
        says = {row.name: row.says for row in exercise.question(seed).knobs}
        texts = views.stored_names(stored)
        for name, text in texts.items():
            yield views.answer_line(
                views.inline(says[name]) if name in says else views.typed_line(name), views.typed_line(text)
            )
        if not texts:
            yield views.typed_line(stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardingForm(views.Form):
    """The layouts, the places of the plan, the moves by array, and the boxes."""

    mesh: str
    layouts: tuple[tuple[Markup, str, str], ...]
    places: tuple[ListField, ...]
    moves: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    plan: bool | None
    boxes: tuple[BoxView, ...]

    @property
    def marks(self) -> Mapping[str, bool]:
        """The verdict on each box, and on the moves, which are right or wrong together."""
        moves = {} if self.plan is None else {place.field: self.plan for place in self.places}
        return {**moves, **marks_of(self.boxes)}


class ShardingView(views.KindView[Sharding]):
    """A plan to choose, move by move, and boxes."""

    def form(self, exercise: Sharding, filled: views.FormInput) -> ShardingForm:
        """The form, with what was chosen and typed."""
        question = exercise.question(filled.seed)
        fields = [f"move.{at}" for at in range(1, MOVES + 1)]
        return ShardingForm(
            mesh=question.mesh,
            layouts=tuple((views.inline(row.title), row.dtensor, row.size) for row in question.rows),
            places=tuple(ListField(field, Markup(), first_value(filled.given, field)) for field in fields),
            moves=tuple((name, tuple((move, localize(move)) for move in moves)) for name, moves in question.moves),
            plan=filled.is_right(PLAN),
            boxes=tuple(box_views(question.fields, filled)),
        )

    def told(self, exercise: Sharding, seed: int, stored: str) -> Iterator[Markup]:
        """The plan, and what was typed into each box."""
        texts = views.stored_names(stored)
        for name, text in texts.items():
            known = name == PLAN or name in exercise.answers
            title = views.inline(exercise.title_of(name, seed)) if known else views.typed_line(name)
            yield views.answer_line(title, views.typed_line(_plan(exercise, seed, text) if name == PLAN else text))
        if not texts:
            yield views.typed_line(stored)


def _plan(exercise: Sharding, seed: int, text: str) -> str:
    """The moves of a plan in the current language, as many as it has."""
    known = {str(move): str(move) for move in exercise.task(seed).moves}
    moves = (move.strip() for move in text.split(THEN.strip()))
    return THEN.join(localize(known.get(move, move)) for move in moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionForm(views.Form):
    """The editor, the visible examples, and whether code can run."""

    entry: str
    source: str
    starter: str
    examples: tuple[Example, ...]
    health: SandboxHealth | None
    has_code: bool = True


class FunctionView(views.CodeView[Function]):
    """An editor; Run tries the visible examples, Submit grades."""

    def form(self, exercise: Function, filled: views.FormInput) -> FunctionForm:
        """The program that was sent, or the starter code."""
        question = exercise.question(filled.seed)
        return FunctionForm(
            entry=question.entry,
            source=first_value(filled.given, "answer") or question.starter,
            starter=question.starter,
            examples=question.examples,
            health=filled.context.health,
        )

    async def run(self, exercise: Function, source: str, posted: PostedForm, runner: Runner) -> ActionResult:
        """The visible examples."""
        return ActionResult(trial=await exercise.try_out(posted.seed, source, runner, posted.learner))


VIEWS: Sequence[views.KindView[Any]] = (
    BuggyLineView(),
    ChoiceView(),
    DesignView(),
    ExpressionView(),
    FunctionView(),
    MatchView(),
    NumericView(),
    OrderView(),
    ShardingView(),
)
