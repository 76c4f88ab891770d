"""Results of a button without a verdict: refused, unreadable, unavailable."""

from app.errors import AnswerError, UnavailableError, sentence
from app.kinds.answers import TooLongError
from app.translation import noted, translate
from app.web.exercise.posted_form import ActionResult

_LOST = noted("Your answer is still here, and no attempt was recorded.")


def refuse_action(why: str) -> ActionResult:
    """What an assignment does not allow, with the reason *why*."""
    return ActionResult(state="refused", says=why, status=403)


def hide_verdict(why: str) -> ActionResult:
    """An answer that is stored; its verdict is hidden, with the reason *why*."""
    return ActionResult(state="recorded", says=translate("Your answer is stored. {why}", why=why))


def unreadable(error: AnswerError | TooLongError) -> ActionResult:
    """An answer that cannot be read: neither graded nor stored."""
    return ActionResult(
        state="unreadable",
        says=sentence(str(error)),
        status=413 if isinstance(error, TooLongError) else 200,
    )


def unavailable(error: UnavailableError) -> ActionResult:
    """Something is out of order; the answer stays in the form."""
    says = f"{sentence(str(error))} {translate(_LOST)}"
    return ActionResult(state="unavailable", says=says, status=503)
