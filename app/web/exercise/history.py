"""What a learner has done at one exercise before."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from app.db.queries import Revealed, attempts_at, revealed, solved_drawing
from app.db.session import open_session
from app.kinds import Exercise
from app.people.work import Drawing
from app.site import Site
from app.web.exercise.views import view_of
from app.web.progress.veil import veil_of
from app.web.urls import exercise_url


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """An earlier attempt; *correct* is None while its verdict is hidden."""

    at: datetime
    correct: bool | None
    answer: tuple[Markup, ...]
    href: str
    same: bool


@dataclass(frozen=True, slots=True)
class History:
    """The hints seen of a drawing, whether it is solved, and the last attempts at the exercise."""

    seen: Revealed = Revealed(0, solution=False)
    solved: bool = False
    attempts: tuple[AttemptView, ...] = ()


def history_of(site: Site, exercise: Exercise, seed: int, learner: str) -> History:
    """What *learner* has done at *exercise*; verdicts that an assignment hides are left out."""
    if not learner:
        return History()
    veil = veil_of(site, learner)
    with open_session(site.engine) as session:
        seen = revealed(session, learner, exercise.id, seed)
        solved = solved_drawing(session, learner, exercise.id, seed)
        attempts = tuple(
            AttemptView(
                at=row.at,
                correct=row.correct if _is_shown(veil, exercise.id, row.seed) else None,
                answer=tuple(view_of(exercise).told(exercise, row.seed, row.answer)),
                href=exercise_url(exercise.id, row.seed),
                same=row.seed == seed,
            )
            for row in attempts_at(session, learner, exercise.id)
        )
    return History(seen, solved and _is_shown(veil, exercise.id, seed), attempts)


def _is_shown(veil: Collection[Drawing], exercise: str, seed: int) -> bool:
    return (exercise, seed) not in veil and (exercise, None) not in veil
