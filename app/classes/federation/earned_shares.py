"""The points of persons as platforms should have them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from app.classes.people.assignments import assignment_with
from app.classes.people.cells import Key
from app.classes.people.classes import members_of
from app.classes.people.counted_answers import dates_for
from app.classes.people.gradebook import Cells, best_answer_times, cells_of, total
from app.classes.people.work import release_of


@dataclass(frozen=True, slots=True)
class EarnedShare:
    """The *share* of the points, 0 to 1, and when the last answer that counts was given."""

    share: float
    answered: datetime | None


def shares_of(
    session: Session, secret: str, assignment: int, at: datetime, persons: Collection[int] | None = None
) -> Mapping[int, EarnedShare]:
    """The share of the points of *persons*, or everyone, as platforms should have it.

    A person without an answer has no score yet. Points that students do not see before the due
    date are not sent before it either.
    """
    found = assignment_with(session, assignment)
    everyone = members_of(session, found.class_id)
    members = [one for one in everyone if persons is None or one.person in persons]
    cells, most = cells_of(session, secret, found, members), found.points
    answered = _last_answers(cells, best_answer_times(session, secret, found, members))
    shares = {
        person: EarnedShare(min(1.0, max(0.0, total(cells, person, found) / most)) if most else 0.0, at)
        for person, at in answered.items()
    }
    if found.policy.show_points:
        return shares
    released = {person: release_of(found, dates_for(session, found, person)) for person in shares}
    return {person: share for person, share in shares.items() if (moment := released[person]) is None or at > moment}


def _last_answers(cells: Cells, times: Mapping[Key, datetime]) -> Mapping[int, datetime | None]:
    """When each person who has points gave the last of the answers that earned them."""
    found: dict[int, datetime | None] = {}
    for key in cells:
        before, at = found.get(key[0]), times.get(key)
        found[key[0]] = max(before, at) if before and at else before or at
    return found
