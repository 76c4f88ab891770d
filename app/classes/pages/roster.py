"""/classes/ID/people: who is in a class, how one joins it, and codes that sign students in."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.classes.pages.class_router import (
    ClassForm,
    ClassRouter,
    ClassVisit,
    JoinLink,
    join_link,
    refuse_student_and_assistant,
    root_of,
)
from app.classes.people.assignment_copies import how_far
from app.classes.people.classes import Member, Role, members_of, renew_join_link
from app.classes.people.members import SeatCode, last_seen, new_seat_codes
from app.classes.people.rosters import namesakes
from app.core.errors import InputError
from app.core.translation import noted, translate

router = ClassRouter("/classes/{class_id:int}/people", "People")
_SHOWN = 50  # pairs of namesakes
_AT_ONCE = 300  # members on a page
_MOST_PAGES = 999
_JOINING = ("open", "roster", "closed")


class JoinForm(ClassForm):
    """Who may join by the link, or that it is to be renewed."""

    do: str = ""


class CodesForm(ClassForm):
    """Whose codes are made: all, or those that are missing."""

    which: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLine:
    """A member in the roster; a student's name leads to their path through the class."""

    name: str
    href: str
    edit: str
    role: str
    outside_id: str
    group: str
    seen: str
    has_code: bool


@dataclass(frozen=True, slots=True)
class Namesakes:
    """Two entries with one *name* that may be one person; *merge* makes *other* part of the first."""

    name: str
    merge: str
    other: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    """The people of a class: those on this page, and how many there are."""

    link: JoinLink
    lines: tuple[MemberLine, ...]
    total: int
    students: int
    without_code: int
    has_groups: bool
    sought: str
    place: int
    places: int
    namesakes: tuple[Namesakes, ...]


@dataclass(frozen=True, slots=True)
class SlipsPage:
    """New seat codes to print and cut, where to type them, and those for whom none was made."""

    slips: tuple[SeatCode, ...]
    without: tuple[str, ...]
    address: str
    is_own: bool


router.register(SlipsPage, "slips", noted("Codes"))


@router.page("", "people", noted("People of {name}"), least=Role.ASSISTANT)
def people_page(visit: ClassVisit, q: str = "", page: str = "1") -> PeoplePage:
    """Everyone in a class, or those whose name or id contains *q*."""
    sought, place = " ".join(q.split())[:100], page_number(page)
    members = sorted(members_of(visit.session, visit.class_id), key=lambda one: -one.role)
    found = find_matching(members, sought) if sought else members
    places = max(1, -(-len(found) // _AT_ONCE))
    place = min(max(1, place), places)
    shown = found[(place - 1) * _AT_ONCE : place * _AT_ONCE]
    seen = last_seen(visit.session, shown)
    students = [one for one in members if one.role is Role.STUDENT]

    def line(one: Member) -> MemberLine:
        href = f"{visit.class_href}/people/{one.person}"
        return MemberLine(
            name=one.name,
            href=href if one.role is Role.STUDENT else "",
            edit=f"{href}/edit",
            role=one.role.word,
            outside_id=one.outside_id,
            group=one.group,
            seen=how_far(seen[one.person], visit.zone, visit.now) if one.person in seen else "never",
            has_code=one.has_code,
        )

    return PeoplePage(
        link=join_link(visit.request, visit.site, visit.member),
        lines=tuple(map(line, shown)),
        total=len(found),
        students=len(students),
        without_code=sum(not one.has_code for one in students),
        has_groups=any(one.group for one in members),
        sought=sought,
        place=place,
        places=places,
        namesakes=tuple(
            Namesakes(kept.name, f"{visit.class_href}/people/{kept.person}/merge", other.person)
            for kept, other in namesakes(members)[:_SHOWN]
        ),
    )


@router.form("/link", people_page)
def change_join_link(visit: ClassVisit, sent: JoinForm) -> str:
    """Renew the join link, or say who may join by it."""
    row = visit.row
    if sent.do == "renew":
        renew_join_link(visit.session, visit.site.secret, row)
    else:
        row.joining = _joining(sent.do)
        visit.session.add(row)
    return f"{visit.class_href}/people#link"


@router.form("/{person:int}/code", people_page, least=Role.ASSISTANT)
def renew_code(visit: ClassVisit, person: int) -> SlipsPage:
    """A new code of one member; everyone who teaches may renew their own."""
    if person != visit.member.person.person:
        refuse_student_and_assistant(visit.member)
    found = [one for one in members_of(visit.session, visit.class_id) if one.person == person]
    if not found:
        raise InputError(translate("this person is not in the class; they may have left a moment ago"))
    return _slips_page(visit, found, is_own=person == visit.member.person.person)


@router.form("/codes", people_page)
def renew_codes(visit: ClassVisit, sent: CodesForm) -> SlipsPage:
    """New codes of all students, or of those who have none."""
    if sent.which not in ("missing", "all"):
        raise InputError(translate("say for which students: missing or all"))
    students = [one for one in members_of(visit.session, visit.class_id) if one.role is Role.STUDENT]
    return _slips_page(visit, [one for one in students if sent.which == "all" or not one.has_code])


def find_matching(members: Sequence[Member], sought: str) -> Sequence[Member]:
    """Those of *members* whose name or id contains *sought*."""
    words = sought.casefold()
    return [one for one in members if words in f"{one.name} {one.outside_id}".casefold()]


def page_number(text: str) -> int:
    """The number of a page in an address; the first, if it is not one."""
    known = text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST_PAGES))
    return int(text) if known else 1


def _slips_page(visit: ClassVisit, chosen: Sequence[Member], *, is_own: bool = False) -> SlipsPage:
    slips = new_seat_codes(visit.session, visit.class_id, chosen, visit.member.person.person)
    made = {slip.member.person for slip in slips}
    address = urlsplit(root_of(visit.request, visit.site) + "/sign-in")
    return SlipsPage(
        slips=tuple(slips),
        without=tuple(one.name for one in chosen if one.person not in made),
        address=address.netloc + address.path,
        is_own=is_own,
    )


def _joining(do: str) -> str:
    """Who may join a class by its link from now on."""
    if do not in _JOINING:
        raise InputError(
            translate("the link can be {joining} or renewed, not {do!r}", joining=", ".join(_JOINING), do=do[:20])
        )
    return do
