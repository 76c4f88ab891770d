"""Exercises that ask for a function, on a page: an editor, and a button that runs examples."""

from dataclasses import dataclass

from app.course.kinds.code.feedback import Example
from app.course.kinds.code.function import Function
from app.course.sandbox.pool import SandboxHealth
from app.course.sandbox.runner import Runner
from app.site.web.exercise.page_context import ActionResult, PostedForm, first_value
from app.site.web.exercise.views.base import CodeView, Form, FormInput


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionForm(Form):
    """The editor, the visible examples, and whether code can run."""

    entry: str
    source: str
    starter: str
    examples: tuple[Example, ...]
    health: SandboxHealth | None
    has_code: bool = True


class FunctionView(CodeView[Function]):
    """An editor; Run tries the visible examples, Submit grades."""

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

    async def run(self, exercise: Function, source: str, posted: PostedForm, runner: Runner) -> ActionResult:
        """The visible examples."""
        return ActionResult(trial=await exercise.try_out(posted.seed, source, runner, posted.learner))


VIEW = FunctionView()
