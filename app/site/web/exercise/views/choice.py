"""Exercises with options on a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.course.kinds.base import Option
from app.course.kinds.choice import Choice
from app.site.web.exercise.views.base import Form, FormInput, KindView, inline, stored_list, typed_line


@dataclass(frozen=True, slots=True)
class OptionView:
    """One option."""

    key: str
    text: Markup
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceForm(Form):
    """The options; *many* when any number of them may be chosen."""

    options: tuple[OptionView, ...]
    many: bool


class ChoiceView(KindView[Choice]):
    """Radio buttons, or check boxes."""

    def form(self, exercise: Choice, filled: FormInput) -> ChoiceForm:
        """The options, and which are chosen."""
        question = exercise.question(filled.seed)
        options = option_views(question.options, filled.given.get("answer", ()))
        return ChoiceForm(options=tuple(options), many=question.many)

    def told(self, exercise: Choice, seed: int, stored: str) -> Iterator[Markup]:
        """The options that were chosen."""
        drawn = exercise.draw(seed)
        for key in stored_list(stored) or [stored]:
            option = exercise.options.get(key)
            yield inline(exercise.fill(option.text, drawn)) if option else typed_line(key)


def option_views(options: Sequence[Option], chosen: Sequence[str]) -> Iterator[OptionView]:
    """*options*, and which of them are *chosen*."""
    for option in options:
        yield OptionView(option.key, inline(option.text), option.key in chosen)


VIEW = ChoiceView()
