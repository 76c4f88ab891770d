"""/assignments/ID/pools: of which exercises each student has some, and who has which."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from app.classes.pages.class_head import ClassHead, assignment_url, class_head
from app.classes.pages.guard import Membership, in_assignment
from app.classes.pages.ideas import link_to
from app.classes.people.assignments import (
    MOST_EXERCISES,
    Assignment,
    AssignmentEntry,
    assignment_to_change,
    change_assignment,
)
from app.classes.people.classes import Role
from app.classes.people.groups import students_in
from app.classes.people.pool_numbers import number_pools
from app.core.errors import InputError, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = Router(prefix="/assignments/{assignment:int}/pools")
_FIELDS = 3 * MOST_EXERCISES + 10
_OFFERED = 3  # pools at least, in the form
_DIGITS = 3  # of a number that is read
_SHOWN = 300  # students


@dataclass(frozen=True, slots=True)
class PoolForm:
    """The pool of each exercise, and how many are drawn of each pool, as they were typed."""

    pools: Mapping[str, str]
    draws: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PooledExercise:
    """An exercise of the assignment, its points, and the pool that it is in."""

    exercise: str
    link: Hyperlink
    points: float
    pool: str


@dataclass(frozen=True, slots=True)
class DrawnExercises:
    """What was drawn for a student."""

    name: str
    links: tuple[Hyperlink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsPage:
    """The form of the pools of an assignment, and who has which exercises of them."""

    head: ClassHead
    title: str
    href: str
    entries: tuple[PooledExercise, ...]
    draws: tuple[tuple[str, str], ...]
    students: tuple[DrawnExercises, ...]
    more: int
    problem: str


@router.get("")
async def show_pools(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """The pools of an assignment."""
    member, one = await in_assignment(request, site, visiting, assignment, Role.TEACHER)
    pools = {entry.exercise: str(entry.pool or "") for entry in one.entries}
    draws = {str(number): str(draw) for number, draw in enumerate(one.draws, 1)}
    return await aside(_shown_pools, request, site, member, one, PoolForm(pools, draws))


@router.post("", dependencies=[FromHere])
async def change_pools(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """Change the pools."""
    member, one = await in_assignment(request, site, visiting, assignment, Role.TEACHER)
    async with request.form(max_fields=_FIELDS) as form:
        sent = _sent_pools(form)
    try:
        await aside(_store_pools, site, one.id, sent)
    except InputError as error:
        problem = sentence(str(error))
        return await aside(_shown_pools, request, site, member, one, sent, problem)
    return RedirectResponse(f"{assignment_url(assignment)}/pools", 303)


def _sent_pools(form: FormData) -> PoolForm:
    names = [str(name) for name in form.getlist("exercise")]
    pools = {name: str(form.get(f"pool-{place}", "")).strip() for place, name in enumerate(names, 1)}
    draws = {key.removeprefix("draw-"): str(value).strip() for key, value in form.items() if key.startswith("draw-")}
    return PoolForm(pools, draws)


def _store_pools(site: Site, assignment: int, sent: PoolForm) -> None:
    with open_writing_session(site.engine) as session:
        stored = assignment_to_change(session, assignment)
        placed = [_placed(one, sent.pools.get(one.exercise)) for one in stored.entries]
        typed = {_pool_number(pool): _pool_number(draw) for pool, draw in sent.draws.items() if draw}
        entries, draws = number_pools(placed, typed)
        change_assignment(session, stored.id, stored.title, stored.policy, entries, stored.groups, draws)
        session.commit()


def _placed(one: AssignmentEntry, typed: str | None) -> AssignmentEntry:
    """*one* in the pool that was *typed*; not asked about, it stays where it is."""
    return one if typed is None else replace(one, pool=_pool_number(typed) if typed else 0)


def _pool_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise InputError(translate("pools and draws are whole numbers, not {text!r}", text=text[:40]))
    return int(text)


def _shown_pools(
    request: Request, site: Site, member: Membership, one: Assignment, sent: PoolForm, problem: str = ""
) -> Response:
    with open_session(site.engine) as session:
        students = students_in(session, member.class_id) if one.draws else []
    offered = max(_OFFERED, len(one.draws) + 1)
    numbers = dict.fromkeys([*map(str, range(1, offered + 1)), *sent.draws])
    page = PoolsPage(
        head=class_head(member, "Assignments"),
        title=one.title,
        href=f"{assignment_url(one.id)}/pools",
        entries=tuple(
            PooledExercise(
                entry.exercise, link_to(site, entry.exercise), entry.points, sent.pools.get(entry.exercise, "")
            )
            for entry in one.entries
        ),
        draws=tuple((number, sent.draws.get(number, "")) for number in numbers),
        students=tuple(
            DrawnExercises(student.name, _drawn_links(site, one, student.learner)) for student in students[:_SHOWN]
        ),
        more=max(0, len(students) - _SHOWN),
        problem=problem,
    )
    around = frame(request, translate("Pools of {title}", title=one.title), here="classes")
    return render("people/pools.html", around, page, 422 if problem else 200)


def _drawn_links(site: Site, one: Assignment, learner: str) -> tuple[Hyperlink, ...]:
    names = [name for pool in one.pools for name in pool.drawn(one.origin, learner)]
    return tuple(link_to(site, name) for name in names)
