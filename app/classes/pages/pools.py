"""/assignments/ID/pools: of which exercises each student has some, and who has which."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from starlette.datastructures import FormData

from app.classes.pages.class_router import AssignmentVisit, ClassForm, ClassRouter
from app.classes.pages.ideas import link_to
from app.classes.people.assignments import AssignmentEntry, change_assignment, number_pools
from app.classes.people.groups import students_in
from app.core.errors import InputError
from app.core.translation import noted, translate
from app.site.web.frame.renderer import Hyperlink

router = ClassRouter("/assignments/{assignment:int}/pools", "Assignments")
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


@dataclass(frozen=True, slots=True)
class DrawnExercises:
    """What was drawn for a student."""

    name: str
    links: tuple[Hyperlink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsPage:
    """The form of the pools of an assignment, and who has which exercises of them."""

    title: str
    href: str
    entries: tuple[PooledExercise, ...]
    draws: tuple[tuple[str, str], ...]
    students: tuple[DrawnExercises, ...]
    more: int


@router.page("", "pools", noted("Pools of {title}"))
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
        students=tuple(DrawnExercises(student.name, drawn(student.learner)) for student in students[:_SHOWN]),
        more=max(0, len(students) - _SHOWN),
    )


@router.form("", pools_page)
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
        raise InputError(translate("pools and draws are whole numbers, not {text!r}", text=text[:40]))
    return int(text)
