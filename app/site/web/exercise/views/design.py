"""Design exercises on a page: a list of values for each thing to choose."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from app.course.kinds.design import Design, KnobRow
from app.site.web.exercise.page_context import first_value
from app.site.web.exercise.views.base import Form, FormInput, KindView, answer_line, inline, stored_names, typed_line


@dataclass(frozen=True, slots=True)
class KnobView:
    """One thing to choose."""

    field: str
    says: Markup
    among: tuple[str, ...]
    chosen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignForm(Form):
    """The things to choose."""

    knobs: tuple[KnobView, ...]


class DesignView(KindView[Design]):
    """A list of values for each thing to choose."""

    def form(self, exercise: Design, filled: FormInput) -> DesignForm:
        """The things to choose, with the values that were chosen."""
        knobs = exercise.question(filled.seed).knobs
        return DesignForm(knobs=tuple(_knob(knob, filled) for knob in knobs))

    def told(self, exercise: Design, seed: int, stored: str) -> Iterator[Markup]:
        """Each value that was chosen."""
        says = {row.name: row.says for row in exercise.question(seed).knobs}
        texts = stored_names(stored)
        for name, text in texts.items():
            yield answer_line(inline(says[name]) if name in says else typed_line(name), typed_line(text))
        if not texts:
            yield typed_line(stored)


def _knob(row: KnobRow, filled: FormInput) -> KnobView:
    field = f"answer.{row.name}"
    return KnobView(field, inline(row.says), row.among, first_value(filled.given, field))


VIEW = DesignView()
