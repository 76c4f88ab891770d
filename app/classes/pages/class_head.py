"""The head of every page of a class: its name, its parts, and what holds for all of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.classes.pages.guard import Membership
from app.classes.people.classes import Role
from app.core.translation import noted, translate

_PARTS = (
    ("", noted("Assignments")),
    ("/people", noted("People")),
    ("/live", noted("Live")),
    ("/grades", noted("Grades")),
)


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to a part of the class; *here*: it is the part that is open."""

    href: str
    text: str
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassHead:
    """The head of a page of a class; students see no *tabs*, *teaches*: a teacher sees it.

    *problem* says why a form changed nothing; *problems*: what is wrong with its fields, by name.
    """

    name: str
    href: str
    role: str
    zone: str
    teaches: bool
    demo: bool
    archived: bool
    tabs: tuple[Tab, ...]
    problem: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)


def class_url(class_id: int) -> str:
    """The page of a class."""
    return f"/classes/{class_id}"


def assignment_url(assignment: int) -> str:
    """The page of an assignment."""
    return f"/assignments/{assignment}"


def class_head(member: Membership, here: str = "") -> ClassHead:
    """The head of the page *here*, such as People, for *member*."""
    href = class_url(member.class_id)
    shown = _PARTS if member.role >= Role.ASSISTANT else ()
    return ClassHead(
        name=member.row.name,
        href=href,
        role=member.role.word,
        zone=member.row.zone,
        teaches=member.teaches,
        demo=member.row.demo,
        archived=member.row.archived is not None,
        tabs=tuple(Tab(href + end, translate(text), text == here) for end, text in shown),
    )
