"""Exercises that ask for a function, on a page: an editor, and a button that runs examples."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from app.kinds.code.feedback import Example
from app.kinds.code.function import Function
from app.sandbox.pool import SandboxHealth
from app.web.exercise.posted_form import first
from app.web.exercise.views.base import Form, FormInput, KindView, folded


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionForm(Form):
    """The editor, the visible examples, and whether code can run."""

    entry: str
    source: str
    starter: str
    examples: tuple[Example, ...]
    health: SandboxHealth | None
    has_code: bool = True


class FunctionView(KindView[Function]):
    """An editor; Run tries the visible examples, Submit grades."""

    needs_context: ClassVar[bool] = True

    def form(self, exercise: Function, filled: FormInput) -> FunctionForm:
        """The program that was sent, or the starter code."""
        question = exercise.question(filled.seed)
        return FunctionForm(
            entry=question.entry,
            source=first(filled.given, "answer") or question.starter,
            starter=question.starter,
            examples=question.examples,
            health=filled.context.health,
        )

    def told(self, exercise: Function, seed: int, stored: str) -> Iterator[Markup]:
        """The program, folded to the number of its lines."""
        yield folded(stored)


VIEW = FunctionView()
