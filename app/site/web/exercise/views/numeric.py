"""Numeric exercises on a page: a box for each number."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.core.translation import translate, unit_word
from app.course.kinds.numeric import ONLY, Box, Numeric
from app.site.web.exercise.page_context import first_value
from app.site.web.exercise.views.base import Form, FormInput, KindView, answer_line, inline, stored_names, typed_line


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxView:
    """One number to type; *correct* is None before it is judged."""

    field: str
    label: Markup
    unit: str
    value: str
    correct: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericForm(Form):
    """The boxes."""

    boxes: tuple[BoxView, ...]

    @property
    def marks(self) -> Mapping[str, bool]:
        """The verdict on each box."""
        return marks_of(self.boxes)


class NumericView(KindView[Numeric]):
    """One box, or several with a verdict on each."""

    def form(self, exercise: Numeric, filled: FormInput) -> NumericForm:
        """The boxes, with what was typed."""
        return NumericForm(boxes=tuple(box_views(exercise.question(filled.seed).fields, filled)))

    def told(self, exercise: Numeric, seed: int, stored: str) -> Iterator[Markup]:
        """What was typed into each box."""
        texts = stored_names(stored) if exercise.answers else {}
        for name, text in texts.items():
            title = inline(exercise.title_of(name, seed)) if name in exercise.answers else typed_line(name)
            yield answer_line(title, typed_line(text))
        if not texts:
            yield typed_line(stored)


def box_views(boxes: Sequence[Box], filled: FormInput) -> Iterator[BoxView]:
    """*boxes* with what was typed into them."""
    for box in boxes:
        field = "answer" if box.name == ONLY else f"answer.{box.name}"
        yield BoxView(
            field=field,
            label=inline(box.prompt) if box.prompt else Markup(translate("Your answer")),
            unit=unit_word(box.unit),
            value=first_value(filled.given, field),
            correct=filled.correct if box.name == ONLY else filled.is_right(box.name),
        )


def marks_of(boxes: Iterable[BoxView]) -> Mapping[str, bool]:
    """The verdict on each of *boxes*, by its field."""
    return {box.field: box.correct for box in boxes if box.correct is not None}


VIEW = NumericView()
