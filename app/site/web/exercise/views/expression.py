"""Exercises that ask for a formula, on a page."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from app.core.translation import unit_word
from app.course.kinds.expression import Expression
from app.site.web.exercise.page_context import first_value
from app.site.web.exercise.views.base import Form, FormInput, KindView, inline


@dataclass(frozen=True, slots=True)
class SymbolView:
    """A symbol of a formula."""

    name: str
    says: Markup
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionForm(Form):
    """The symbols, and the formula that was typed."""

    symbols: tuple[SymbolView, ...]
    unit: str
    source: str
    correct: bool | None

    @property
    def marks(self) -> Mapping[str, bool]:
        """The verdict on the formula."""
        return {} if self.correct is None else {"answer": self.correct}


class ExpressionView(KindView[Expression]):
    """A table of the symbols, and a box for the formula."""

    def form(self, exercise: Expression, filled: FormInput) -> ExpressionForm:
        """The symbols, and the formula that was typed."""
        question = exercise.question(filled.seed)
        return ExpressionForm(
            symbols=tuple(SymbolView(s.name, inline(s.says), s.unit) for s in question.symbols),
            unit=unit_word(question.unit),
            source=first_value(filled.given, "answer"),
            correct=filled.correct,
        )


VIEW = ExpressionView()
