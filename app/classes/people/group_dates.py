"""The dates of assignments for groups of the class, as they are stored."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlalchemy import delete
from sqlmodel import Session, col, select

from app.classes.people.policy import DATES, GroupDates, Policy
from app.core.errors import InputError
from app.core.translation import translate
from app.server.db.people import GroupDatesRow

MOST_GROUPS = 500


def read_group_dates(session: Session, assignments: Collection[int]) -> Mapping[int, Sequence[GroupDates]]:
    """The groups with dates of their own in each of *assignments* that has some, by name."""
    found: dict[int, list[GroupDates]] = {}
    rows = select(GroupDatesRow).where(col(GroupDatesRow.assignment).in_(assignments))
    for row in session.exec(rows.order_by(col(GroupDatesRow.group_name))):
        moments = {name: getattr(row, name) for name in DATES}
        found.setdefault(row.assignment, []).append(GroupDates(group=row.group_name, **moments))
    return found


def store_group_dates(session: Session, assignment: int, policy: Policy, groups: Iterable[GroupDates]) -> None:
    """Store the dates of the groups of an assignment in place of the earlier ones; not committed.

    Raises:
        InputError: there are too many, one is there twice, or its dates cannot be.
    """
    given = list(groups)
    if len(given) > MOST_GROUPS:
        raise InputError(
            translate(
                "an assignment has dates for at most {most:,} groups, not {count:,}", most=MOST_GROUPS, count=len(given)
            )
        )
    names = Counter(one.group for one in given)
    if twice := next((name for name, count in names.items() if count > 1), ""):
        raise InputError(translate("the group {group} is there twice", group=twice))
    session.connection().execute(delete(GroupDatesRow).where(col(GroupDatesRow.assignment) == assignment))
    for one in given:
        one.check(policy)
        dates = {name: getattr(one, name) for name in DATES}
        session.add(GroupDatesRow(assignment=assignment, group_name=one.group, **dates))
    session.flush()
