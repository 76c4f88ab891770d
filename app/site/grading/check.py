"""Grade an answer and store the attempt, before anyone gets the verdict."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from app.core.errors import AnswerError
from app.course.kinds import Answer, Exercise, Verdict
from app.course.kinds.base import refuse_longer
from app.server.aside.fair_queue import Client
from app.server.db.replays import ReplayedAttempt
from app.server.db.tables import Attempt, Replay
from app.server.metrics import verdicts
from app.site import Site


async def check(
    site: Site,
    exercise: Exercise,
    seed: int,
    answer: Answer,
    learner: str,
    client: Client,
    *,
    hints: int = 0,
    revealed: bool = False,
    seconds: float | None = None,
    once: Callable[[Verdict], Replay] | None = None,
    turn: AbstractAsyncContextManager[object] | None = None,
) -> tuple[Verdict, Attempt]:
    """The verdict on *answer*, and the attempt: stored durably when this returns, with the replay *once* makes.

    Programs are scheduled as those of *client*. Where answers have an order, it is stored in its *turn*.

    Raises:
        AnswerError: *answer* cannot be parsed; nothing is stored.
        KeyTakenError: a check with the same key was stored first; nothing is stored.
        TooLongError: *answer* has more characters than the settings allow; nothing is stored.
        UnavailableError: the sandbox or the database is unavailable; nothing is stored.
    """
    refuse_longer(answer, site.settings.answer_limit)
    try:
        runner = site.runner.on_behalf_of(client) if exercise.runs_code else site.runner
        verdict = await exercise.grade(seed, answer, runner, learner)
    except AnswerError:
        verdicts(exercise.kind, "unreadable").inc()
        raise
    async with turn or nullcontext():
        try:
            attempt = Attempt(
                learner=learner,
                exercise=exercise.id,
                seed=seed,
                answer=answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False),
                correct=verdict.correct,
                score=verdict.score,
                hints=hints,
                revealed=revealed,
                digest=exercise.digest,
                drawn=exercise.draw(seed).as_json,
                seconds=seconds,
                mistake=exercise.kept_key(verdict.mistake) if verdict.mistake else None,
            )
        except ValueError as error:
            raise AnswerError(f"this answer cannot be stored: {error}") from error
        stored = site.writer.enqueue(ReplayedAttempt(attempt, once(verdict)) if once else attempt)
    await stored
    verdicts(exercise.kind, "correct" if verdict.correct else "incorrect").inc()
    return verdict, attempt
