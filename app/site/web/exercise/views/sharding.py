"""Sharding plans on a page: the layouts, a list of moves for each place, and boxes for numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from app.core.translation import localize
from app.course.kinds.sharding import MOVES, PLAN, THEN, Sharding
from app.site.web.exercise.page_context import first_value
from app.site.web.exercise.views.base import Form, FormInput, KindView, answer_line, inline, stored_names, typed_line
from app.site.web.exercise.views.numeric import BoxView, box_views, marks_of


@dataclass(frozen=True, slots=True)
class MoveView:
    """One place of the plan, and the move that was chosen for it."""

    field: str
    chosen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardingForm(Form):
    """The layouts, the places of the plan, the moves by array, and the boxes."""

    mesh: str
    layouts: tuple[tuple[Markup, str, str], ...]
    places: tuple[MoveView, ...]
    moves: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    plan: bool | None
    boxes: tuple[BoxView, ...]

    @property
    def marks(self) -> Mapping[str, bool]:
        """The verdict on each box, and on the moves, which are right or wrong together."""
        moves = {} if self.plan is None else {place.field: self.plan for place in self.places}
        return {**moves, **marks_of(self.boxes)}


class ShardingView(KindView[Sharding]):
    """A plan to choose, move by move, and boxes."""

    def form(self, exercise: Sharding, filled: FormInput) -> ShardingForm:
        """The form, with what was chosen and typed."""
        question = exercise.question(filled.seed)
        fields = [f"move.{at}" for at in range(1, MOVES + 1)]
        return ShardingForm(
            mesh=question.mesh,
            layouts=tuple((inline(row.title), row.dtensor, row.size) for row in question.rows),
            places=tuple(MoveView(field, first_value(filled.given, field)) for field in fields),
            moves=tuple((name, tuple((move, localize(move)) for move in moves)) for name, moves in question.moves),
            plan=filled.is_right(PLAN),
            boxes=tuple(box_views(question.fields, filled)),
        )

    def told(self, exercise: Sharding, seed: int, stored: str) -> Iterator[Markup]:
        """The plan, and what was typed into each box."""
        texts = stored_names(stored)
        for name, text in texts.items():
            known = name == PLAN or name in exercise.answers
            title = inline(exercise.title_of(name, seed)) if known else typed_line(name)
            yield answer_line(title, typed_line(_plan(exercise, seed, text) if name == PLAN else text))
        if not texts:
            yield typed_line(stored)


def _plan(exercise: Sharding, seed: int, text: str) -> str:
    """The moves of a plan in the current language, as many as it has."""
    known = {str(move): str(move) for move in exercise.task(seed).moves}
    moves = (move.strip() for move in text.split(THEN.strip()))
    return THEN.join(localize(known.get(move, move)) for move in moves)


VIEW = ShardingView()
