"""Wrong ideas: the foreseen mistakes in a learner's wrong answers, and whether they are gone.

What an answer was told is not stored; it is worked out again, from answers to questions that are
still the same. Programs are not run again for it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

from markupsafe import Markup

from app.core.errors import AnswerError
from app.core.translation import noted, translate
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.kinds.answers import stored_answer
from app.course.sandbox.runner import Runner
from app.server.db.history import PastAnswer
from app.server.db.tables import Attempt
from app.site.markdown import inline_html
from app.site.web.frame.renderer import Hyperlink
from app.site.web.urls import exercise_url

Fate = Literal["open", "corrected", "gone"]
_SAYS: Mapping[Fate, str] = {
    "open": noted("no right answer since"),
    "corrected": noted("right since, on the same day"),
    "gone": noted("gone: right on a later day"),
}
LOOKED_AT = 200  # wrong answers, the latest
_LISTED = 12  # ideas
_Told = tuple[Attempt, str]  # a wrong answer, and its diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongIdea:
    """A foreseen mistake that the learner made: its diagnosis, how often, and its fate."""

    link: Hyperlink
    diagnosis: Markup
    times: int
    last: datetime
    fate: Fate

    @property
    def says(self) -> str:
        """Whether it is gone, in words."""
        return translate(_SAYS[self.fate])


def wrong_ideas(
    course: Catalog, runner: Runner, wrong: Sequence[Attempt], answers: Sequence[PastAnswer]
) -> tuple[WrongIdea, ...]:
    """The ideas in the *wrong* ones of a learner's *answers*; those that are gone come last."""
    found = asyncio.run(_collected(course, runner, wrong))
    ideas = [_idea(exercise, those, answers) for exercise, those in found]
    ideas.sort(key=lambda idea: (idea.fate == "gone", -idea.last.timestamp()))
    return tuple(ideas[:_LISTED])


async def _collected(course: Catalog, runner: Runner, wrong: Sequence[Attempt]) -> list[tuple[Exercise, list[_Told]]]:
    """Each foreseen mistake among the *wrong* answers, the latest first."""
    found: dict[tuple[str, int], list[_Told]] = {}
    for attempt in wrong:
        exercise = course.by_id.get(attempt.exercise)
        if exercise is None or exercise.runs_code or not _is_unchanged(exercise, attempt):
            continue
        async for number, says in _mistakes_in(runner, exercise, attempt):
            found.setdefault((exercise.id, number), []).append((attempt, says))
    return [(course.exercise(name), those) for (name, _), those in found.items()]


def _is_unchanged(exercise: Exercise, attempt: Attempt) -> bool:
    """Whether *exercise* still draws what *attempt* answered."""
    drawn = json.dumps(dict(exercise.draw(attempt.seed).shown), ensure_ascii=False)
    return drawn == attempt.drawn


async def _mistakes_in(runner: Runner, exercise: Exercise, attempt: Attempt) -> AsyncIterator[tuple[int, str]]:
    """The numbers of the listed mistakes that the answer was told, each with its sentence."""
    try:
        answer = stored_answer(attempt.answer, exercise.right_answer(attempt.seed))
        verdict = await exercise.grade(attempt.seed, answer, runner)
    except AnswerError:  # the exercise has other options now
        return
    told = "\n".join(verdict.feedback)
    for number, (_, says) in enumerate(exercise.mistakes(attempt.seed)):
        if says in told:
            yield number, says


def _idea(exercise: Exercise, those: Sequence[_Told], answers: Sequence[PastAnswer]) -> WrongIdea:
    last, says = those[0]
    right = [one.at for one in answers if one.exercise == exercise.id and one.own]
    since = [at for at in right if at > last.at]
    later = any(_day(at) > _day(last.at) for at in since)
    return WrongIdea(
        link=Hyperlink(exercise_url(exercise.id, last.seed), exercise.title),
        diagnosis=inline_html(says),
        times=len(those),
        last=last.at,
        fate="gone" if later else "corrected" if since else "open",
    )


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()
