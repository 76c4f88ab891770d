"""/classes/ID/live: an assignment while the class works on it; who has which exercises, and wrong ideas."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.datastructures import FormData

from app.classes.pages.class_router import AssignmentVisit, ClassForm, ClassRouter, ClassVisit, Tab
from app.classes.people.activity import STATES, ExerciseActivity, State, group_by_exercise, ideas_in, work_in
from app.classes.people.assignments import Assignment, AssignmentEntry, assignments_of, change_assignment, number_pools
from app.classes.people.classes import Member, Role
from app.classes.people.members import students_in
from app.classes.people.policy import dates_of
from app.core.errors import AppError, NotFoundError, input_error
from app.core.translation import language, noted, translate
from app.course.kinds import Exercise
from app.course.kinds.base import ValueCache
from app.site import Site
from app.site.markdown import inline_html
from app.site.web.frame.renderer import Hyperlink
from app.site.web.urls import exercise_url

_GONE = noted("A mistake that the exercise no longer lists")


class _RenderedParts(ValueCache[tuple[str, str, str, int], Markup]):
    most = 4_096


_shown = _RenderedParts()


@dataclass(frozen=True, slots=True)
class Idea:
    """A wrong idea, and how many persons had it; *share* is of those who began, 0 to 1."""

    says: Markup
    persons: int
    share: float


def idea_html(exercise: Exercise | None, key: str, seed: int = 0) -> Markup:
    """The diagnosis with that *key*, with the values that *seed* draws."""
    if exercise is None:
        return Markup(translate(_GONE))
    return _shown.of((language(), exercise.digest, key, seed), lambda: _html(exercise, key, seed))


def _html(exercise: Exercise, key: str, seed: int) -> Markup:
    try:
        says = exercise.diagnosis(key, seed)
    except (AppError, ValueError):  # it names what this drawing does not have
        return Markup(translate(_GONE))
    return inline_html(says) if says else Markup(translate(_GONE))


def link_to(site: Site, exercise: str, seed: int = 0) -> Hyperlink:
    """The page of an exercise, by its title; by its id if the course no longer has it."""
    known = site.catalog.by_id.get(exercise)
    return Hyperlink(exercise_url(exercise, seed), known.title if known else exercise)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePage:
    """An assignment, live; *names* is the link that shows or hides names."""

    choices: tuple[Tab, ...]
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
    chosen = _chosen_assignment(assignments, assignment, visit.now)
    students = students_in(visit.session, visit.class_id)
    work = work_in(visit.session, visit.site.secret, chosen, students) if chosen else ()
    href = f"{visit.class_href}/live"
    number = chosen.id if chosen else 0
    return LivePage(
        choices=tuple(Tab(f"{href}?assignment={one.id}", one.title, one.id == number) for one in assignments),
        title=chosen.title if chosen else "",
        students=len(students),
        begun=len({one.person for one in work if one.tries}),
        rows=_live_rows(visit.site, chosen, work, students, named=named) if chosen else (),
        at=f"{visit.now.astimezone(visit.zone):%H:%M:%S}",
        named=named,
        names=f"{href}?{urlencode({'assignment': number} | ({} if named else {'names': 'yes'}))}",
        again=f"{href}?{urlencode({'assignment': number} | ({'names': 'yes'} if named else {}))}",
    )


def _chosen_assignment(assignments: Sequence[Assignment], wanted: str, now: datetime) -> Assignment | None:
    """The assignment that is *wanted*; else the open one that is due first, else the latest."""
    if wanted:
        for one in assignments:
            if str(one.id) == wanted:
                return one
        raise NotFoundError(translate("this assignment does not exist in the class"))
    still = [
        one
        for one in assignments
        if any(dates_of(policy).phase(now, policy.grace) in ("open", "unstarted") for policy in one.policies)
    ]
    due = [(one.policy.due, one.id, one) for one in still if one.policy.due]
    if due:
        return min(due, key=lambda row: row[:2])[2]
    last = still or assignments
    return last[-1] if last else None


def _live_rows(
    site: Site, assignment: Assignment, work: Iterable[ExerciseActivity], students: Sequence[Member], *, named: bool
) -> tuple[LiveExercise, ...]:
    """A row for each exercise, about those who have it; *named*: with their names."""
    ideas, by_exercise = ideas_in(work), group_by_exercise(work)
    having: dict[str, list[Member]] = {entry.exercise: [] for entry in assignment.entries}
    if assignment.draws:
        for student in students:
            for exercise in assignment.drawn(student.learner):
                having[exercise].append(student)
    else:
        having = dict.fromkeys(having, list(students))
    rows = []
    for exercise, those in having.items():
        names = {one.person: one.name for one in those} if named else {}
        own = by_exercise.get(exercise, ())
        begun, known = sum(one.tries > 0 for one in own), site.catalog.by_id.get(exercise)
        most_common = list(ideas.get(exercise, {}).items())[:_IDEAS]
        rows.append(
            LiveExercise(
                link=link_to(site, exercise),
                counts=_counts(site.clock(), own, names, len(those)),
                ideas=tuple(Idea(idea_html(known, key), persons, persons / begun) for key, persons in most_common),
            )
        )
    return tuple(rows)


def _counts(
    now: datetime, work: Sequence[ExerciseActivity], names: Mapping[int, str], students: int
) -> tuple[StateCount, ...]:
    those: dict[State, list[int]] = {state: [] for state in STATES}
    for one in work:
        those[one.state(now)].append(one.person)
    sizes = {state: len(persons) for state, persons in those.items()}
    begun = {one.person for one in work} if names else ()
    those["new"] = [person for person in names if person not in begun]
    sizes["new"] = students - len(work)
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


_pools_router = ClassRouter("/assignments/{assignment:int}/pools", "Assignments")
_OFFERED = 3  # pools at least, in the form
_DIGITS = 3  # of a number that is read
_SHOWN = 300  # students


class PoolForm(ClassForm):
    """The pool of each exercise, and how many are drawn of each pool, as they were typed."""

    pools: Mapping[str, str]
    draws: Mapping[str, str]

    @classmethod
    def read(cls, sent: FormData) -> Self:
        """The form that was *sent*."""
        names = [str(name) for name in sent.getlist("exercise")]
        pools = {name: str(sent.get(f"pool-{place}", "")).strip() for place, name in enumerate(names, 1)}
        typed = ((key.removeprefix("draw-"), value) for key, value in sent.items() if key.startswith("draw-"))
        return cls(pools=pools, draws={number: str(value).strip() for number, value in typed})


@dataclass(frozen=True, slots=True)
class PooledExercise:
    """An exercise of the assignment, its points, and the pool that it is in."""

    exercise: str
    link: Hyperlink
    points: float
    pool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsPage:
    """The form of the pools of an assignment, and who, by name, has which exercises of them."""

    title: str
    href: str
    entries: tuple[PooledExercise, ...]
    draws: tuple[tuple[str, str], ...]
    students: tuple[tuple[str, tuple[Hyperlink, ...]], ...]
    more: int


@_pools_router.page("", "pools", noted("Pools of {title}"))
def pools_page(visit: AssignmentVisit, sent: PoolForm | None = None) -> PoolsPage:
    """The pools of an assignment."""
    one = visit.assignment
    form = sent or PoolForm(
        pools={entry.exercise: str(entry.pool or "") for entry in one.entries},
        draws={str(number): str(draw) for number, draw in enumerate(one.draws, 1)},
    )
    students = students_in(visit.session, visit.class_id) if one.draws else []
    links = {entry.exercise: link_to(visit.site, entry.exercise) for entry in one.entries}
    offered = range(1, max(_OFFERED, len(one.draws) + 1) + 1)

    def drawn(learner: str) -> tuple[Hyperlink, ...]:
        return tuple(links[name] for pool in one.pools for name in pool.drawn(one.origin, learner))

    return PoolsPage(
        title=one.title,
        href=f"{visit.href}/pools",
        entries=tuple(
            PooledExercise(entry.exercise, links[entry.exercise], entry.points, form.pools.get(entry.exercise, ""))
            for entry in one.entries
        ),
        draws=tuple(
            (number, form.draws.get(number, "")) for number in dict.fromkeys([*map(str, offered), *form.draws])
        ),
        students=tuple((student.name, drawn(student.learner)) for student in students[:_SHOWN]),
        more=max(0, len(students) - _SHOWN),
    )


@_pools_router.form("", pools_page)
def change_pools(visit: AssignmentVisit, sent: PoolForm) -> str:
    """Change the pools."""
    stored = visit.assignment
    placed = [_placed(one, sent.pools.get(one.exercise)) for one in stored.entries]
    typed = {_pool_number(pool): _pool_number(draw) for pool, draw in sent.draws.items() if draw}
    entries, draws = number_pools(placed, typed)
    change_assignment(visit.session, stored.id, stored.title, stored.policy, entries, stored.groups, draws)
    return f"{visit.href}/pools"


def _placed(one: AssignmentEntry, typed: str | None) -> AssignmentEntry:
    """*one* in the pool that was *typed*; not asked about, it stays where it is."""
    return one if typed is None else replace(one, pool=_pool_number(typed) if typed else 0)


def _pool_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise input_error("pools and draws are whole numbers, not {text!r}", text=text[:40])
    return int(text)


router.routes += _pools_router.routes
