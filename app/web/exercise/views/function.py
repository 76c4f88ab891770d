"""Exercises that ask for a function, on a page: an editor, and a button that runs examples."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from app.kinds.answers import refuse_longer
from app.kinds.code.feedback import Example
from app.kinds.code.function import Function
from app.sandbox.pool import SandboxHealth
from app.web.exercise.posted_form import ActionResult, PostedForm, first_value
from app.web.exercise.views.base import (
    Form,
    FormContext,
    FormInput,
    KindTools,
    KindView,
    folded_program,
)


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

    def context(
        self, exercise: Function, seed: int, tools: KindTools, *, graded: bool
    ) -> FormContext:
        """Whether code can run."""
        return FormContext(health=tools.health)

    def form(self, exercise: Function, filled: FormInput) -> FunctionForm:
        """The program that was sent, or the starter code."""
        question = exercise.question(filled.seed)
        return FunctionForm(
            entry=question.entry,
            source=first_value(filled.given, "answer") or question.starter,
            starter=question.starter,
            examples=question.examples,
            health=filled.context.health,
        )

    async def act(
        self, exercise: Function, posted: PostedForm, tools: KindTools
    ) -> ActionResult | None:
        """Run the visible examples.

        Raises:
            AnswerError: there is nothing to run.
            TooLongError: the program has more characters than the settings allow.
            UnavailableError: the sandbox cannot run it.
        """
        if posted.action != "run":
            return None
        source = first_value(posted.given, "answer")
        refuse_longer(source, tools.answer_limit)
        return ActionResult(
            trial=await exercise.try_out(posted.seed, source, tools.runner, posted.learner)
        )

    def told(self, exercise: Function, seed: int, stored: str) -> Iterator[Markup]:
        """The program, folded to the number of its lines."""
        yield folded_program(stored)


VIEW = FunctionView()
