"""Matching exercises on a page: a list to choose from beside each thing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from app.course.kinds.base import Option
from app.course.kinds.order import Match
from app.site.web.exercise.page_context import first_value
from app.site.web.exercise.views.base import Form, FormInput, KindView, inline, stored_names, typed_line


@dataclass(frozen=True, slots=True)
class ThingView:
    """One thing that needs a partner; *correct* is None before it is judged."""

    field: str
    text: Markup
    chosen: str
    correct: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchForm(Form):
    """The things, and the partners to choose from."""

    things: tuple[ThingView, ...]
    partners: tuple[Option, ...]

    @property
    def marks(self) -> Mapping[str, bool]:
        """The verdict on each partner that was chosen."""
        return {one.field: one.correct for one in self.things if one.correct is not None}


class MatchView(KindView[Match]):
    """A list of partners for each thing, with a verdict on each."""

    def form(self, exercise: Match, filled: FormInput) -> MatchForm:
        """The things, with the partners that were chosen."""
        question = exercise.question(filled.seed)
        things = tuple(_thing(thing, filled) for thing in question.things)
        return MatchForm(things=things, partners=question.partners)

    def told(self, exercise: Match, seed: int, stored: str) -> Iterator[Markup]:
        """Each thing with the partner that was chosen."""
        drawn, texts = exercise.draw(seed), stored_names(stored)
        for key, chosen in texts.items():
            thing, partner = exercise.things.get(key), exercise.partners.get(chosen)
            left = inline(exercise.fill(thing.text, drawn)) if thing else typed_line(key)
            right = inline(exercise.fill(partner, drawn)) if partner else typed_line(chosen)
            yield left + " → " + right
        if not texts:
            yield typed_line(stored)


def _thing(thing: Option, filled: FormInput) -> ThingView:
    field = f"answer.{thing.key}"
    chosen = first_value(filled.given, field)
    return ThingView(field, inline(thing.text), chosen, filled.is_right(thing.key))


VIEW = MatchView()
