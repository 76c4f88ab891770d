"""A roster from a file or pasted: first what it would change, then the change."""

from dataclasses import dataclass, replace

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from app.classes.pages.class_head import ClassHead, class_head, class_url
from app.classes.pages.guard import Membership, in_class
from app.classes.people.classes import Role
from app.classes.people.csv_rosters import (
    COLUMN_WORDS,
    SYSTEMS,
    ReadRoster,
    RosterLayout,
    UnknownTitlesError,
    read_roster,
)
from app.classes.people.csv_text import MOST_LINES, CsvRow, decode_csv, read_csv
from app.classes.people.members import hold
from app.classes.people.rosters import RosterChanges, import_roster, roster_changes
from app.core.errors import InputError, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting, spend_storage

router = Router(prefix="/classes/{class_id:int}/people/roster")
PATHS = ("/classes/*/people/roster", "/classes/*/people/roster/apply")
BODY_LIMIT = 4 << 20  # bytes: 10,000 lines of 400 bytes
_SHOWN = 50  # of a group
_FIRST = 8  # lines that show how a file is read
_COLUMNS = 100  # that are offered
_FIELDS = 20  # of the form
_DIGITS = 6  # of a line
_TITLE = 60  # characters of one


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRoster:
    """A roster as text, and which column is what, if a person has said it."""

    text: str = ""
    columns: tuple[str, ...] = ()
    first_line: int = 0
    digest: str = ""
    removes: bool = False

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """The number of the column of each word."""
        return tuple((word, int(number)) for word, _, number in (one.partition(":") for one in self.columns))

    def read(self) -> ReadRoster:
        """Who is on it."""
        return read_roster(self.text, self.columns, self.first_line)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsForm:
    """Which column of a file is what, as a person said or as it was read, and the first lines as they are.

    *words* of columns come with what they mean and the number of a column, 0 for none; *system*: of whose titles it is.
    """

    words: tuple[tuple[str, str, int], ...]
    columns: tuple[tuple[int, str], ...]
    rows: tuple[CsvRow, ...]
    first_line: int
    system: str = ""

    @classmethod
    def of(cls, sent: SentRoster, layout: RosterLayout | None = None) -> "ColumnsForm":
        """The form for what was *sent*, which was read by a *layout* if it could be."""
        rows = read_csv(sent.text).rows
        untitled = bool(layout and not layout.titles)
        first_line = sent.first_line or (1 if untitled else 2)
        above = [row for row in rows if row.number < first_line]
        width = min(_COLUMNS, max(len(row.cells) for row in rows))
        titles = [above[-1].cell(place)[:_TITLE] if above else "" for place in range(width)]
        numbers = {word: place + 1 for word, place in layout.places.items()} if layout else dict(sent.numbers)
        return cls(
            words=tuple((word, translate(says), numbers.get(word, 0)) for word, says in COLUMN_WORDS.items()),
            columns=tuple(enumerate(titles, 1)),
            rows=rows[:_FIRST],
            first_line=first_line,
            system=layout.format.system if layout and layout.format else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterPage:
    """The form for a roster, and once one was sent, what it would change."""

    head: ClassHead
    sent: SentRoster = SentRoster()
    form: ColumnsForm | None = None
    read: ReadRoster | None = None
    found: RosterChanges | None = None
    shown: int = _SHOWN
    first: int = _FIRST
    most: int = MOST_LINES
    systems: str = SYSTEMS
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
    """What a roster would change, or which of its columns a person has to name; nothing is changed yet."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    async with request.form(max_files=1, max_fields=_FIELDS, max_part_size=BODY_LIMIT) as form:
        file = form.get("file")
        content = await file.read() if isinstance(file, UploadFile) else b""
        sent = _sent(form)
    return await aside(_compared, request, site, member, sent, content)


@router.post("/apply", dependencies=[FromHere])
async def apply_roster(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """Change the class as was shown; if the difference is another by now, it is shown again."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    async with request.form(max_files=0, max_fields=_FIELDS, max_part_size=BODY_LIMIT) as form:
        sent = _sent(form)
    spend_storage(site, len(sent.text))
    if not await aside(_taken, site, class_id, sent):
        return await aside(_compared, request, site, member, sent, moved=True)
    return RedirectResponse(f"{class_url(class_id)}/people", 303)


def _sent(form: FormData) -> SentRoster:
    line = str(form.get("first_line", ""))
    numbers = ((word, str(form.get(f"column-{word}", ""))) for word in COLUMN_WORDS)
    return SentRoster(
        text=str(form.get("text", "")),
        columns=tuple(f"{word}:{number}" for word, number in numbers if number.isascii() and number.isdecimal()),
        first_line=int(line) if line.isascii() and line.isdecimal() and len(line) <= _DIGITS else 0,
        digest=str(form.get("digest", "")),
        removes=form.get("remove") == "yes",
    )


def _compared(
    request: Request, site: Site, member: Membership, sent: SentRoster, content: bytes = b"", *, moved: bool = False
) -> Response:
    page = RosterPage(head=class_head(member, "People"), sent=sent, moved=moved)
    try:
        if content:
            sent = replace(sent, text=decode_csv(content))
            page = replace(page, sent=sent)
        read = sent.read()
        with open_session(site.engine) as session:
            found = roster_changes(session, member.class_id, read.entries)
        closes = member.row.joining == "open" and bool(found.added or found.known)
        page = replace(page, read=read, found=found, form=ColumnsForm.of(sent, read.layout), closes=closes)
    except UnknownTitlesError:
        page = replace(page, form=ColumnsForm.of(sent))
    except InputError as error:
        form = ColumnsForm.of(sent) if sent.columns else None
        page = replace(page, problem=sentence(str(error)), form=form)
    return _shown_roster_import(request, member, page)


def _taken(site: Site, class_id: int, sent: SentRoster) -> bool:
    """Whether the class was changed: only if the difference is still the one that was shown."""
    with open_writing_session(site.engine) as session:
        hold(session, class_id)
        found = roster_changes(session, class_id, sent.read().entries)
        if found.digest != sent.digest:
            return False
        import_roster(session, class_id, found, remove_missing=sent.removes)
        session.commit()
    return True


def _shown_roster_import(request: Request, member: Membership, page: RosterPage) -> Response:
    around = frame(request, translate("Roster of {name}", name=member.row.name), here="classes")
    return render("people/roster.html", around, page, 422 if page.problem else 200)
