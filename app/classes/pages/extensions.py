"""/assignments/ID/extensions: later dates for single students, each with a reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.classes.pages.assignment_form import date_words
from app.classes.pages.class_router import AssignmentVisit, ClassForm, ClassRouter
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.groups import students_in
from app.classes.people.local_time import in_words, on_the_calendar, read_moment
from app.classes.people.members import refuse_missing_students
from app.classes.people.personal_dates import drop_extension, extensions_of, give_extension
from app.classes.people.policy import Policy, dates_of
from app.core.translation import noted
from app.site import Site

router = ClassRouter("/assignments/{assignment:int}/extensions", "Assignments", least=Role.ASSISTANT)
_DIGITS = 18  # of the number of a person


@dataclass(frozen=True, slots=True)
class StudentChoice:
    """A student to choose, and a *note* beside the name."""

    person: int
    name: str
    note: str
    chosen: bool


class ChosenStudents(ClassForm):
    """A form in which students are chosen."""

    person: list[str] = []

    @property
    def chosen(self) -> frozenset[int]:
        """The numbers of those who are."""
        return frozenset(chosen_numbers(self.person))

    def choice(self, student: Member, note: str) -> StudentChoice:
        """*student*, to be chosen again."""
        return StudentChoice(student.person, student.name, note, student.person in self.chosen)


class ExtensionForm(ChosenStudents):
    """Who gets how long, and why."""

    until: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionLine:
    """An extension that holds."""

    person: int
    name: str
    until: str
    why: str
    by: str
    when: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionsPage:
    """The extensions of an assignment, and the form for more."""

    title: str
    href: str
    general: tuple[str, ...]
    groups: tuple[str, ...]
    exam: bool
    movable: bool
    lines: tuple[ExtensionLine, ...]
    students: tuple[StudentChoice, ...]
    sent: ExtensionForm
    until: str
    words: str


@router.page("", "extensions", noted("Extensions of {title}"))
def extensions_page(visit: AssignmentVisit, sent: ExtensionForm) -> ExtensionsPage:
    """The extensions of an assignment; with a *person*, that one is chosen in the form."""
    one, now, zone = visit.assignment, visit.now, visit.zone
    given = {member.person: row for member, row in extensions_of(visit.session, one)}
    students = students_in(visit.session, visit.class_id)
    until = sent.until if "until" in sent.model_fields_set else _suggested(one.policy, now)
    notes = {person: on_the_calendar(row.until, zone, now) for person, row in given.items()}
    return ExtensionsPage(
        title=one.title,
        href=f"{visit.href}/extensions",
        general=general_dates(one.policy, visit.site),
        groups=tuple(
            f"{dates.group}: {'; '.join(general_dates(dates.policy(one.policy), visit.site))}" for dates in one.groups
        ),
        exam=one.policy.sitting > 0,
        movable=any(policy.due or policy.closes or policy.sitting for policy in one.policies),
        lines=tuple(
            ExtensionLine(
                person=other.person,
                name=other.name,
                until=in_words(row.until, zone, now),
                why=row.why,
                by=row.by,
                when=on_the_calendar(row.at, zone, now),
            )
            for other in students
            if (row := given.get(other.person))
        ),
        students=tuple(sent.choice(student, notes.get(student.person, "")) for student in students),
        sent=sent,
        until=until,
        words=date_words(until, zone, now, ends=True),
    )


@router.form("", extensions_page)
def extend_for_students(visit: AssignmentVisit, sent: ExtensionForm) -> str:
    """Extend the assignment for the students who are chosen."""
    everyone = members_of(visit.session, visit.class_id)
    refuse_missing_students(sent.chosen, (one for one in everyone if one.role is Role.STUDENT))
    by = next(one.name for one in everyone if one.person == visit.member.person.person)
    until = read_moment(sent.until.strip(), visit.zone, ends=True).at
    why = " ".join(sent.why.split())
    give_extension(visit.session, visit.assignment, sent.chosen, until, by, why, visit.now)
    return f"{visit.href}/extensions"


@router.form("/end", extensions_page)
def take_extension_back(visit: AssignmentVisit, sent: ChosenStudents) -> str:
    """Take an extension back."""
    for person in sent.chosen:
        drop_extension(visit.session, visit.assignment.id, person)
    return f"{visit.href}/extensions"


def chosen_numbers(texts: Sequence[str]) -> Sequence[int]:
    """The numbers of persons among *texts*."""
    return [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) <= _DIGITS]


def general_dates(policy: Policy, site: Site) -> tuple[str, ...]:
    """The dates of everyone, in words."""
    dates = dates_of(policy)
    words = [("due", dates.due), ("closes", dates.closes)]
    if dates.due == dates.closes:
        words = words[:1]
    return tuple(f"{name} {in_words(at, policy.zone, site.clock())}" for name, at in words if at)


def _suggested(policy: Policy, now: datetime) -> str:
    """Two days after the due date; if that is over, at the end of the day after tomorrow."""
    due = (policy.due or now).astimezone(policy.zone)
    later = max(due, now.astimezone(policy.zone)).replace(tzinfo=None) + timedelta(days=2)
    if due < now or policy.due is None:
        later = later.replace(hour=23, minute=59)
    return f"{later:%Y-%m-%dT%H:%M}"
