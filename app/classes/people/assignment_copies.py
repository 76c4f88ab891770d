"""Copies of the assignments of a class with their dates moved, and dates as people write them."""

import hashlib
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment, AssignmentEntry, assignments_of, create_assignment, entries_left
from app.classes.people.policy import DATES, ENDS, GroupDates, Policy
from app.core.errors import NotFoundError, input_error
from app.core.translation import noted, plural, translate
from app.core.translation.dates import weekday
from app.server.db.people import AssignmentRow

# Python 3.14 reads 24:00 as the start of the next day; some who type it mean that of this one.
_TYPED = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d(:\d\d)?")
_FIRST, _LAST = 2000, 2200  # years
_DATES = {"opens": noted("opens {moment}"), "due": noted("due {moment}"), "closes": noted("closes {moment}")}
_HOUR, _MINUTE = 3600, 60
_TWICE_FIRST = noted(
    "clocks in {zone} show {typed:%H:%M} twice on {day}: the first is used, which is {chosen:%H:%M} UTC"
)
_TWICE_SECOND = noted(
    "clocks in {zone} show {typed:%H:%M} twice on {day}: the second is used, which is {chosen:%H:%M} UTC"
)


@dataclass(frozen=True, slots=True)
class LocalMoment:
    """A point in time; *note* says what was decided where clocks are changed."""

    at: datetime
    note: str = ""


def read_moment(text: str, zone: ZoneInfo, *, ends: bool) -> LocalMoment:
    """The moment that clocks in *zone* show as *text*, such as 2026-10-02T23:59.

    A time that clocks skip is as far after the change as it was meant to be. Of a time that comes
    twice, what *ends* takes the second, and what begins the first: nobody loses an hour.

    Raises:
        InputError: it is not such a time.
    """
    return local_moment(_typed(text), zone, ends=ends)


def local_moment(typed: datetime, zone: ZoneInfo, *, ends: bool) -> LocalMoment:
    """The moment that clocks in *zone* show as *typed*; see `read_moment`.

    Raises:
        InputError: the year is too far away.
    """
    if not _FIRST <= typed.year < _LAST:
        raise input_error(
            "the year must be from {first} to {last}, not {year}", first=_FIRST, last=_LAST - 1, year=typed.year
        )
    early, late = (typed.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if early.utcoffset() == late.utcoffset():
        return LocalMoment(early.astimezone(UTC))
    moved = early.astimezone(UTC).astimezone(zone)
    if moved.replace(tzinfo=None) != typed:
        says = translate(
            "clocks in {zone} skip {typed:%H:%M} on {day}: {moved:%H:%M} is used",
            zone=zone.key,
            typed=typed,
            day=weekday(typed, year=True),
            moved=moved,
        )
        return LocalMoment(moved.astimezone(UTC), says)
    chosen = late if ends else early
    says = translate(
        _TWICE_SECOND if ends else _TWICE_FIRST,
        zone=zone.key,
        typed=typed,
        day=weekday(typed, year=True),
        chosen=chosen.astimezone(UTC),
    )
    return LocalMoment(chosen.astimezone(UTC), says)


def _typed(text: str) -> datetime:
    if _TYPED.fullmatch(text):
        with suppress(ValueError):  # such as February 30
            return datetime.fromisoformat(text)
    raise input_error("cannot read {text!r} as a date and time; write it as 2026-10-02T23:59", text=text[:40])


def field_text(at: datetime | None, zone: ZoneInfo) -> str:
    """*at* as a field for a date and time holds it; empty if there is none."""
    return f"{at.astimezone(zone):%Y-%m-%dT%H:%M}" if at else ""


def in_words(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """*at* with its day of the week, and how far away it is.

    >>> now = datetime(2026, 9, 26, 9, 0, tzinfo=UTC)
    >>> in_words(datetime(2026, 10, 2, 21, 59, tzinfo=UTC), ZoneInfo("Europe/Berlin"), now)
    'Friday, Oct 2, 23:59, in 6 days'
    """
    return f"{on_the_calendar(at, zone, now)}, {how_far(at, zone, now)}"


def on_the_calendar(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """*at* with its day of the week; with the year, if it is another than that of *now*."""
    local = at.astimezone(zone)
    day = weekday(local, year=local.year != now.astimezone(zone).year)
    return f"{day}, {local:%H:%M}"


def dates_in_words(
    policy: Policy, now: datetime, moment: Callable[[datetime, ZoneInfo, datetime], str] = in_words
) -> tuple[str, ...]:
    """The dates that *policy* sets, each in words; the close only where it is not the due date."""
    dates = {name: at for name in DATES if (at := getattr(policy, name)) is not None}
    if policy.closes == policy.due:
        dates.pop("closes", None)
    return tuple(translate(_DATES[name], moment=moment(at, policy.zone, now)) for name, at in dates.items())


def how_far(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """How far *at* is from *now*: by the calendar from a day on, else by the clock.

    >>> now = datetime(2026, 9, 26, 9, 0, tzinfo=UTC)
    >>> how_far(now + timedelta(hours=3), ZoneInfo("UTC"), now)
    'in 3 hours'
    >>> how_far(now - timedelta(days=1), ZoneInfo("UTC"), now)
    'yesterday'
    """
    days = (at.astimezone(zone).date() - now.astimezone(zone).date()).days
    apart = (at - now).total_seconds()
    if abs(apart) < timedelta(hours=12).total_seconds() or days == 0:
        return _by_the_clock(apart)
    if abs(days) == 1:
        return translate("tomorrow") if days > 0 else translate("yesterday")
    if days > 0:
        return plural("in {number:,} day", "in {number:,} days", days)
    return plural("{number:,} day ago", "{number:,} days ago", -days)


def _by_the_clock(seconds: float) -> str:
    size = abs(seconds)
    if size < _MINUTE:
        return translate("now")
    if size >= _HOUR:
        hours = int(size // _HOUR)
        if seconds > 0:
            return plural("in {number} hour", "in {number} hours", hours)
        return plural("{number} hour ago", "{number} hours ago", hours)
    minutes = int(size // _MINUTE)
    if seconds > 0:
        return plural("in {number} minute", "in {number} minutes", minutes)
    return plural("{number} minute ago", "{number} minutes ago", minutes)


_WEEK = timedelta(weeks=1)
MOST_WEEKS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentCopy:
    """A copy to be made of *source*.

    *groups* have their dates moved as well. *gone* are exercises that the course does not have anymore: they are left
    out, and a pool draws no more than it then has. *notes* say what was decided where clocks are changed.
    """

    source: Assignment
    policy: Policy
    entries: tuple[AssignmentEntry, ...]
    groups: tuple[GroupDates, ...]
    draws: tuple[int, ...]
    gone: tuple[str, ...]
    notes: tuple[str, ...]


def plan_copies(
    session: Session, class_id: int, numbers: Collection[int], when: int | date, zone: ZoneInfo, known: Container[str]
) -> tuple[Sequence[AssignmentCopy], int]:
    """Copies of the assignments of a class with those *numbers*, or of all, and by how many weeks they are moved.

    *when* is the number of weeks, or a day: then the first date comes into its week.

    Raises:
        InputError: there are none, a date would be too far away, or nothing would be left of one.
        NotFoundError: one of *numbers* is not in the class.
    """
    chosen = chosen_assignments(session, class_id, numbers)
    weeks = weeks_to(chosen, when) if isinstance(when, date) else when
    return copies_of(chosen, weeks, zone, known), weeks


def copies_of(
    assignments: Iterable[Assignment], weeks: int, zone: ZoneInfo, known: Container[str]
) -> Sequence[AssignmentCopy]:
    """Copies of *assignments*, *weeks* later, with the exercises that are *known*.

    Clocks in *zone* show the same time on the same day of the week as those of the class did.

    Raises:
        InputError: a date would be too far away, or nothing would be left of an assignment.
    """
    if abs(weeks) > MOST_WEEKS:
        raise input_error("dates are moved by at most {most:,} weeks, not {weeks:,}", most=MOST_WEEKS, weeks=weeks)
    return [_copy(one, weeks, zone, known) for one in assignments]


def weeks_to(assignments: Iterable[Assignment], start: date) -> int:
    """The weeks by which the first of all dates comes into the week of *start*."""
    dates = (
        at.astimezone(one.policy.zone).date()
        for one in assignments
        for those in (one.policy, *one.groups)
        for name in ENDS
        if (at := getattr(those, name)) is not None
    )
    first = min(dates, default=start)
    return (_monday(start) - _monday(first)) // _WEEK


def chosen_assignments(session: Session, class_id: int, numbers: Collection[int] = ()) -> Sequence[Assignment]:
    """The assignments of a class with those *numbers*, or all of them, as teachers set them.

    Raises:
        InputError: the class has none.
        NotFoundError: one of *numbers* is not in the class.
    """
    found = assignments_of(session, class_id)
    if unknown := set(numbers) - {one.id for one in found}:
        raise NotFoundError(translate("this class has no assignment {number}", number=min(unknown)))
    if not found:
        raise input_error("this class has no assignments that could be copied")
    return [one for one in found if not numbers or one.id in numbers]


def copies_digest(copies: Sequence[AssignmentCopy]) -> str:
    """A name for *copies*: what was shown is what is made."""
    said = repr([(one.source.id, one.source.title, one.policy, one.entries, one.groups, one.draws) for one in copies])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def store_copies(session: Session, class_id: int, copies: Iterable[AssignmentCopy]) -> Mapping[int, int]:
    """The number of each copy, by that of its source; not committed."""
    made = {}
    for one in copies:
        source = one.source.id
        number = create_assignment(session, class_id, one.source.title, one.policy, one.entries, one.groups, one.draws)
        row = session.get_one(AssignmentRow, number)
        row.weight = one.source.weight
        row.origins = f"{session.get_one(AssignmentRow, source).origins} {source}".strip()
        session.add(row)
        made[source] = number
    session.flush()
    return made


def copy_in_class(session: Session, class_id: int, assignment: int) -> int:
    """The assignment of a class that is *assignment*, or the first copy of it; 0: there is none."""
    rows = select(AssignmentRow).where(AssignmentRow.class_id == class_id)
    found = {row.id: row for row in session.exec(rows.order_by(col(AssignmentRow.id)))}
    if assignment in found:
        return assignment
    copies = (row.id for row in found.values() if str(assignment) in row.origins.split())
    return next(copies, None) or 0


def _copy(one: Assignment, weeks: int, zone: ZoneInfo, known: Container[str]) -> AssignmentCopy:
    left = [entry for entry in one.entries if entry.exercise in known]
    entries, draws = entries_left(one, left)
    if not entries:
        raise input_error("the course does not have the exercises of {title} anymore: leave it out", title=one.title)
    notes: dict[str, None] = {}

    def moved(dates: Policy | GroupDates) -> dict[str, Any]:
        found = {
            name: local_moment(_later(at, one.policy.zone, weeks), zone, ends=ends)
            for name, ends in ENDS.items()
            if (at := getattr(dates, name)) is not None
        }
        notes.update(dict.fromkeys(moment.note for moment in found.values() if moment.note))
        return {name: moment.at for name, moment in found.items()}

    return AssignmentCopy(
        source=one,
        policy=replace(one.policy, zone=zone, archived=None, **moved(one.policy)),
        entries=tuple(entries),
        draws=tuple(draws),
        groups=tuple(replace(dates, **moved(dates)) for dates in one.groups),
        gone=tuple(entry.exercise for entry in one.entries if entry.exercise not in known),
        notes=tuple(notes),
    )


def _later(at: datetime, zone: ZoneInfo, weeks: int) -> datetime:
    """What clocks that show *at* in *zone* show some *weeks* later."""
    try:
        return at.astimezone(zone).replace(tzinfo=None, fold=0) + weeks * _WEEK
    except OverflowError:
        raise input_error("a date would be too far away") from None


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())
