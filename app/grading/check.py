"""An answer is judged and kept, in that order, before anybody hears the verdict."""

import json
from collections.abc import Callable

from app.db.replays import Once
from app.db.tables import Attempt, Replay
from app.errors import AnswerError
from app.kinds import Answer, Exercise, Verdict
from app.kinds.length import refuse_longer
from app.sandbox.fair_queue import Client
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
) -> Verdict:
    """The verdict on *answer*, kept durably when this returns, with *once* of it.

    Programs are scheduled as those of *client*.

    Raises:
        AnswerError: *answer* cannot be read; nothing is kept.
        KeyTakenError: *once* says what was said before; nothing is kept.
        TooLongError: *answer* has more characters than the settings allow; nothing is kept.
        UnavailableError: the sandbox or the database cannot do its work; nothing is kept.
    """
    refuse_longer(answer, site.settings.answer_limit)
    verdict = await exercise.grade(seed, answer, site.runner.on_behalf_of(client), learner)
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
            drawn=json.dumps(dict(exercise.draw(seed).shown), ensure_ascii=False),
            seconds=seconds,
        )
    except ValueError as error:
        raise AnswerError(f"this answer cannot be kept: {error}") from error
    await site.writer.put(Once(attempt, once(verdict)) if once else attempt)
    return verdict
