"""/classes/ID/live: an assignment while the class works on it, for the screen of a classroom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from app.classes.pages.class_router import ClassRouter, ClassVisit
from app.classes.pages.ideas import Idea, idea_html, link_to
from app.classes.people.activity import STATES, ExerciseActivity, State, ideas_in, work_in
from app.classes.people.assignments import Assignment, AssignmentEntry, assignments_of
from app.classes.people.classes import Member, Role
from app.classes.people.groups import students_in
from app.classes.people.policy import dates_of
from app.core.errors import NotFoundError
from app.core.translation import noted, translate
from app.site import Site
from app.site.web.frame.renderer import Hyperlink

router = ClassRouter("/classes/{class_id:int}", "Live", least=Role.ASSISTANT)
_WORDS: Mapping[State, str] = {
    "new": noted("not begun"),
    "trying": noted("trying"),
    "stuck": noted("stuck"),
    "solved": noted("solved"),
}
_IDEAS = 5  # of an exercise
_NAMES = 60  # of a state


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCount:
    """The students in a state; *start* is where its part of the bar begins, in percent."""

    state: State
    word: str
    count: int
    start: float
    width: float
    names: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class LiveExercise:
    """How many students are how far with an exercise, and which wrong ideas they have."""

    link: Hyperlink
    counts: tuple[StateCount, ...]
    ideas: tuple[Idea, ...]


@dataclass(frozen=True, slots=True)
class LiveAssignment:
    """An assignment that can be shown; *here*: it is."""

    link: Hyperlink
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePage:
    """An assignment, live; *names* is the link that shows or hides names."""

    choices: tuple[LiveAssignment, ...]
    title: str
    students: int
    begun: int
    rows: tuple[LiveExercise, ...]
    at: str
    named: bool
    names: str
    again: str


@router.page("/live", "live", noted("{name}, live"))
def live_page(visit: ClassVisit, assignment: str = "", names: str = "") -> LivePage:
    """The screen of an assignment: the one that is named, else the one that is due next."""
    assignments, named = assignments_of(visit.session, visit.class_id), names == "yes"
    chosen = _chosen(assignments, assignment, visit.now)
    students = students_in(visit.session, visit.class_id)
    work = work_in(visit.session, visit.site.secret, chosen, students) if chosen else ()
    href = f"{visit.class_href}/live"
    number = chosen.id if chosen else 0
    return LivePage(
        choices=tuple(
            LiveAssignment(Hyperlink(f"{href}?assignment={one.id}", one.title), one.id == number) for one in assignments
        ),
        title=chosen.title if chosen else "",
        students=len(students),
        begun=len({one.person for one in work if one.tries}),
        rows=_live_rows(visit.site, chosen, work, students, named=named) if chosen else (),
        at=f"{visit.now.astimezone(visit.zone):%H:%M:%S}",
        named=named,
        names=f"{href}?{urlencode({'assignment': number} | ({} if named else {'names': 'yes'}))}",
        again=f"{href}?{urlencode({'assignment': number} | ({'names': 'yes'} if named else {}))}",
    )


def _chosen(assignments: Sequence[Assignment], wanted: str, now: datetime) -> Assignment | None:
    """The assignment that is *wanted*; else the open one that is due first, else the latest."""
    if wanted:
        for one in assignments:
            if str(one.id) == wanted:
                return one
        raise NotFoundError(translate("this assignment does not exist in the class"))
    still = [one for one in assignments if _is_open(one, now)]
    due = [(one.policy.due, one.id, one) for one in still if one.policy.due]
    if due:
        return min(due, key=lambda row: row[:2])[2]
    last = still or assignments
    return last[-1] if last else None


def _is_open(one: Assignment, now: datetime) -> bool:
    phases = (dates_of(policy).phase(now, policy.grace) for policy in one.policies)
    return not {"open", "unstarted"}.isdisjoint(phases)


def _live_rows(
    site: Site, assignment: Assignment, work: Sequence[ExerciseActivity], students: Sequence[Member], *, named: bool
) -> tuple[LiveExercise, ...]:
    """A row for each exercise, about those who have it; *named*: with their names."""
    ideas = ideas_in(work)
    drawn = {one.person: assignment.drawn(one.learner) for one in students}
    rows = []
    for entry in assignment.entries:
        having = {one.person: one.name for one in students if entry.exercise in drawn[one.person]}
        those = [one for one in work if one.exercise == entry.exercise]
        rows.append(
            LiveExercise(
                link=link_to(site, entry.exercise),
                counts=_counts(site, those, having if named else {}, len(having)),
                ideas=_ideas(site, entry, ideas.get(entry.exercise, {}), work),
            )
        )
    return tuple(rows)


def _counts(
    site: Site, work: Sequence[ExerciseActivity], names: Mapping[int, str], students: int
) -> tuple[StateCount, ...]:
    now = site.clock()
    those: dict[State, list[int]] = {state: [] for state in STATES}
    for one in work:
        those[one.state(now)].append(one.person)
    begun = {one.person for one in work}
    those["new"] = [person for person in names if person not in begun]
    sizes = {state: len(persons) for state, persons in those.items()}
    sizes["new"] = students - len(begun)
    counts, start = [], 0.0
    for state in reversed(STATES):
        width = 100 * sizes[state] / students if students else 0.0
        called = [names[person] for person in those[state] if person in names]
        counts.append(
            StateCount(
                state=state,
                word=translate(_WORDS[state]),
                count=sizes[state],
                start=round(start, 3),
                width=round(width, 3),
                names=tuple(sorted(called, key=str.casefold)[:_NAMES]),
                more=max(0, len(called) - _NAMES),
            )
        )
        start += width
    return tuple(counts)


def _ideas(
    site: Site, entry: AssignmentEntry, counts: Mapping[str, int], work: Sequence[ExerciseActivity]
) -> tuple[Idea, ...]:
    exercise = site.catalog.by_id.get(entry.exercise)
    begun = sum(one.exercise == entry.exercise and one.tries > 0 for one in work)
    return tuple(
        Idea(idea_html(exercise, key), persons, persons / begun) for key, persons in list(counts.items())[:_IDEAS]
    )
