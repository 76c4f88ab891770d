"""Matching exercises on a page: a list to choose from beside each thing."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from app.kinds.answers import PartVerdict
from app.kinds.match import Match, Side
from app.web.exercise.posted_form import first_value
from app.web.exercise.views.base import Form, FormInput, KindView, inline, stored_names, typed


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
    partners: tuple[Side, ...]


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
            left = inline(exercise.fill(thing.text, drawn)) if thing else typed(key)
            right = inline(exercise.fill(partner, drawn)) if partner else typed(chosen)
            yield left + " → " + right
        if not texts:
            yield typed(stored)


def _thing(thing: Side, filled: FormInput) -> ThingView:
    field = f"answer.{thing.key}"
    part = filled.parts.get(thing.key, PartVerdict(None, ""))
    return ThingView(field, inline(thing.text), first_value(filled.given, field), part.correct)


VIEW = MatchView()
