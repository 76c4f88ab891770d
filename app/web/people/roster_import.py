"""A roster from a file or pasted: first what it would change, then the change."""

from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from app.aside import aside
from app.db.session import open_session, open_writing_session
from app.errors import InputError, sentence
from app.network.routes import Router
from app.people.classes import Role
from app.people.csv_encoding import decode_csv
from app.people.csv_files import MOST_LINES, ReadRoster, read_roster
from app.people.members import hold
from app.people.rosters import RosterChanges, import_roster, roster_changes
from app.site import Here, Site
from app.translation import translate
from app.web.frame.renderer import frame, render
from app.web.frame.visitor import FromHere, Visiting, spend_storage
from app.web.people.class_head import ClassHead, class_head, class_url
from app.web.people.guard import Membership, in_class

router = Router(prefix="/classes/{class_id:int}/people/roster")
PATHS = ("/classes/*/people/roster", "/classes/*/people/roster/apply")
BODY_LIMIT = 4 << 20  # bytes: 10,000 lines of 400 bytes
_SHOWN = 50  # of a group


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterPage:
    """The form for a roster, and once one was sent, what it would change."""

    head: ClassHead
    text: str = ""
    read: ReadRoster | None = None
    found: RosterChanges | None = None
    shown: int = _SHOWN
    most: int = MOST_LINES
    problem: str = ""
    moved: bool = False
    closes: bool = False


@router.get("")
async def show_roster_form(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """The form for a roster."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    return _shown_roster_import(request, member, RosterPage(head=class_head(member, "People")))


@router.post("", dependencies=[FromHere])
async def compare_roster(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """What a roster would change; nothing is changed yet."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    async with request.form(max_files=1, max_fields=4, max_part_size=BODY_LIMIT) as sent:
        content = await _content(sent)
    return await aside(_compared, request, site, member, content)


@router.post("/apply", dependencies=[FromHere])
async def apply_roster(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """Change the class as was shown; if the difference is another by now, it is shown again."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    async with request.form(max_files=0, max_fields=4, max_part_size=BODY_LIMIT) as sent:
        text, digest = str(sent.get("text", "")), str(sent.get("digest", ""))
        removes = sent.get("remove") == "yes"
    spend_storage(request, site, visiting, len(text))
    if not await aside(_taken, site, class_id, text, digest, removes=removes):
        return await aside(_compared, request, site, member, text, moved=True)
    return RedirectResponse(f"{class_url(class_id)}/people", 303)


async def _content(sent: FormData) -> bytes:
    file = sent.get("file")
    content = await file.read() if isinstance(file, UploadFile) else b""
    return content or str(sent.get("text", "")).encode("utf-8", "replace")


def _compared(
    request: Request, site: Site, member: Membership, content: bytes | str, *, moved: bool = False
) -> Response:
    head, text = class_head(member, "People"), ""
    try:
        text = decode_csv(content) if isinstance(content, bytes) else content
        with open_session(site.engine) as session:
            read = read_roster(text)
            found = roster_changes(session, member.class_id, read.entries)
    except InputError as error:
        problem = sentence(str(error))
        return _shown_roster_import(request, member, RosterPage(head=head, text=text, problem=problem))
    closes = member.row.joining == "open" and bool(found.added or found.known)
    page = RosterPage(head=head, text=text, read=read, found=found, moved=moved, closes=closes)
    return _shown_roster_import(request, member, page)


def _taken(site: Site, class_id: int, text: str, digest: str, *, removes: bool) -> bool:
    """Whether the class was changed: only if the difference is still the one with *digest*."""
    with open_writing_session(site.engine) as session:
        hold(session, class_id)
        found = roster_changes(session, class_id, read_roster(text).entries)
        if found.digest != digest:
            return False
        import_roster(session, class_id, found, remove_missing=removes)
        session.commit()
    return True


def _shown_roster_import(request: Request, member: Membership, page: RosterPage) -> Response:
    around = frame(request, translate("Roster of {name}", name=member.row.name), here="classes")
    return render("people/roster.html", around, page, 422 if page.problem else 200)
