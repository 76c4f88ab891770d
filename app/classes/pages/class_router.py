"""Pages of classes and their forms: who may, a session, a lock, what was sent, and the head of each."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Self, TypeVar, get_args, get_origin
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

import segno
from fastapi import Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from sqlmodel import Session
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from app.classes.people.assignments import Assignment, assignment_to_change, assignment_with
from app.classes.people.classes import Role, class_with, join_code_of, number_of, refuse_archived, role_in
from app.classes.people.csv_text import decode_csv
from app.classes.people.members import hold
from app.core.errors import InputError, NotFoundError, sentence
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.db.people import AssignmentRow, ClassRow
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.members import SignedIn
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting, Visitor

T = TypeVar("T")
_LARGEST = 2**63 - 1  # number of a row
# The same words for a class that does not exist and for one of others: nobody learns which.
_NOT_HERE = noted(
    "this class does not exist, or you are not in it, or this page is for its teachers; a "
    "link of your teacher lets you join"
)


@dataclass(frozen=True, slots=True)
class Membership:
    """A class, and the member of it who sent the request."""

    row: ClassRow
    role: Role
    person: SignedIn

    @property
    def class_id(self) -> int:
        """The number of the class."""
        return number_of(self.row)

    @property
    def teaches(self) -> bool:
        """Whether this member may change points, assignments and the roster."""
        return self.role >= Role.TEACHER


async def ask_database(site: Site, ask: Callable[..., T], *given: Any) -> T:
    """What *ask* finds in a session, beside the event loop."""

    def found() -> T:
        with open_session(site.engine) as session:
            return ask(session, *given)

    return await aside(found)


async def change_database(site: Site, change: Callable[..., T], *given: Any) -> T:
    """What *change* returns, beside the event loop, once what it did in a session is stored."""

    def done() -> T:
        with open_writing_session(site.engine) as session:
            made = change(session, *given)
            session.commit()
        return made

    return await aside(done)


async def in_class(
    request: Request, site: Site, visiting: Visitor, class_id: int, least: Role, *, archived: bool = False
) -> Membership:
    """The membership of the visitor, who must have at least the role *least*.

    With *archived*, a form may also change what is archived.

    Raises:
        HTTPException: 303 to the page for signing in, if the visitor is not signed in.
        NotFoundError: the class does not exist, or not for this person in this role.
        InputError: a form would change a class that is archived.
    """
    person = require_person(request, visiting)
    with open_session(site.engine) as session:
        member = _membership(session, person, class_id, least)
    if request.method == "POST" and not archived:
        refuse_archived(member.row)
    return member


async def in_assignment(
    request: Request, site: Site, visiting: Visitor, assignment: int, least: Role
) -> tuple[Membership, Assignment]:
    """The membership of the visitor in the class of *assignment*, and the assignment.

    Raises:
        HTTPException: 303 to the page for signing in, if the visitor is not signed in.
        NotFoundError: the assignment does not exist, or not for this person in this role.
        InputError: a form would change an assignment of a class that is archived.
    """
    person = require_person(request, visiting)
    with open_session(site.engine) as session:
        row = session.get(AssignmentRow, assignment) if assignment <= _LARGEST else None
        if row is None:
            raise NotFoundError(translate(_NOT_HERE))
        member = _membership(session, person, row.class_id, least)
        if request.method == "POST":
            refuse_archived(member.row)
        return member, assignment_with(session, assignment)


def refuse_student_and_assistant(member: Membership) -> None:
    """Refuse what only a teacher may do.

    Raises:
        NotFoundError: *member* is none: nobody learns whether there is more.
    """
    if not member.teaches:
        raise NotFoundError(translate(_NOT_HERE))


def sign_in_first(request: Request) -> HTTPException:
    """What sends the visitor to the page for signing in, and back from there."""
    back = request.url.path
    if request.method != "GET":
        back = back if back.startswith("/assignments") else "/".join(back.split("/")[:3])
    elif request.url.query:
        back = f"{back}?{request.url.query}"
    location = f"/sign-in?{urlencode({'next': back})}"
    return HTTPException(303, translate("sign in first"), {"Location": location})


def require_person(request: Request, visiting: Visitor) -> SignedIn:
    """The person who is signed in; without one, an HTTPException leads to the page for signing in."""
    if visiting.person is None:
        raise sign_in_first(request)
    return visiting.person


def _membership(session: Session, person: SignedIn, class_id: int, least: Role) -> Membership:
    row = session.get(ClassRow, class_id) if class_id <= _LARGEST else None
    role = role_in(session, class_id, person.person) if row is not None else None
    if row is None or role is None or role < least:
        raise NotFoundError(translate(_NOT_HERE))
    return Membership(row, role, person)


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
    archived: bool
    tabs: tuple[Tab, ...]
    problem: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)


def class_url(class_id: int) -> str:
    """The page of a class."""
    return f"/classes/{class_id}"


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
        archived=member.row.archived is not None,
        tabs=tuple(Tab(href + end, translate(text), text == here) for end, text in shown),
    )


@dataclass(frozen=True, slots=True)
class JoinLink:
    """The address, and as it is read from a slide; *joining*: open, roster or closed."""

    href: str
    shown: str
    joining: str


def join_link(request: Request, site: Site, member: Membership) -> JoinLink:
    """The link of a class, for its teachers and assistants."""
    href = f"{root_of(request, site)}/join/{join_code_of(site.secret, member.row)}"
    parts = urlsplit(href)
    return JoinLink(href, parts.netloc + parts.path, member.row.joining)


def root_of(request: Request, site: Site) -> str:
    """The address of the site: as configured, else as the browser of a teacher reached it."""
    reached = str(request.base_url).rstrip("/") + site.settings.prefix
    return site.settings.url or reached


def qr_code(address: str) -> Markup:
    """The QR code of *address* as an SVG, black on white; empty if none is large enough for it."""
    try:
        code = segno.make_qr(address, error="m")
    except segno.DataOverflowError:  # more than 2,331 bytes
        return Markup()
    return Markup(code.svg_inline(border=4, omitsize=True, light="#fff"))


_MOST_FIELDS = 1_001  # of a form: as many as the door lets through
_LARGEST_PART = 64 << 20  # bytes: the door has a limit for all of them
BOM = "\ufeff"  # some spreadsheets read a file without it in another encoding
_PLACE = re.compile(r"{(\w+)")  # of an address
_EMPTY = inspect.Parameter.empty
V = TypeVar("V", bound=Callable[..., object])


class ClassForm(BaseModel):
    """The fields of a form as they are sent; a list has every field of its name."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def read(cls, sent: FormData) -> Self:
        """The form that was *sent*."""
        fields = {name: field for name, field in cls.model_fields.items() if name in sent}
        many = {name for name, field in fields.items() if get_origin(field.annotation) is list}
        return cls.model_validate({name: sent.getlist(name) if name in many else sent[name] for name in fields})


class FileForm(ClassForm):
    """A form with a CSV file, or with its text."""

    file: bytes = b""
    text: str = ""

    @field_validator("file", mode="before")
    @classmethod
    def _content(cls, sent: object) -> object:
        return sent.file.read() if isinstance(sent, UploadFile) else sent

    def decoded(self, error: InputError | None) -> Self:
        """The form with the text of its file; with none, if that is what an *error* was about.

        Raises:
            InputError: the file is not such a text.
        """
        try:
            text = decode_csv(self.file) if self.file else self.text
        except InputError:
            if error is None:
                raise
            text = ""
        return self.model_copy(update={"file": b"", "text": text})


class FormError(InputError):
    """Fields of a form are not valid; *problems*: a sentence for each, by its name."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassVisit:
    """A request to a page of a class: who sent it, and a session; *error*: why a form changed nothing."""

    request: Request
    site: Site
    session: Session
    member: Membership
    error: InputError | None = None

    @property
    def class_id(self) -> int:
        """The number of the class."""
        return self.member.class_id

    @property
    def row(self) -> ClassRow:
        """The class as it is stored."""
        return class_with(self.session, self.class_id)

    @property
    def now(self) -> datetime:
        """The time of the site."""
        return self.site.clock()

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the class."""
        return ZoneInfo(self.member.row.zone)

    @property
    def class_href(self) -> str:
        """The address of the class."""
        return class_url(self.class_id)

    @property
    def title(self) -> str:
        """What the page is about."""
        return self.member.row.name


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentVisit(ClassVisit):
    """A request to a page of an assignment; where a form changes it, nobody else does meanwhile."""

    assignment: Assignment

    @property
    def href(self) -> str:
        """The address of the assignment."""
        return f"/assignments/{self.assignment.id}"

    @property
    def title(self) -> str:
        """What the page is about."""
        return self.assignment.title


@dataclass(frozen=True, slots=True)
class _Template:
    """How a page is rendered; its *title* has the names of its fields, or of the class, as values."""

    name: str
    title: str
    tab: str


class ClassRouter(Router):
    """The routes of pages of classes, for members with at least the role *least*.

    A page is a function of a visit, of what its address says, and of what was *sent*; it returns
    the values of its template. A form is a function that changes something and returns the address
    to go to: it is stored then. If it raises an `InputError`, its page is shown *again* with what
    was sent and the sentence, and nothing is stored. A preview is a page of what was sent, such as a file.
    """

    def __init__(self, prefix: str, tab: str = "", *, least: Role = Role.TEACHER) -> None:
        super().__init__(prefix=prefix)
        self._tab = tab
        self._least = least
        self._templates: dict[Callable[..., object], _Template] = {}

    def register(self, page: type, template: str, title: str = "") -> None:
        """Render what is a *page* with a template of its own, whichever function returns it."""
        self._templates[page] = _Template(f"people/{template}.html", title, self._tab)

    def page(
        self, path: str, template: str, title: str = "", *, tab: str | None = None, least: Role | None = None
    ) -> Callable[[V], V]:
        """Answer GET with what a function returns; a title that is empty is that of the page or the visit."""

        def add(view: V) -> V:
            self._templates[view] = _Template(f"people/{template}.html", title, self._tab if tab is None else tab)

            async def answer(request: Request, site: Site, visiting: Visiting, given: Mapping[str, Any]) -> Response:
                member, found = await self._membership(request, site, visiting, given, least or self._least)
                return await aside(self.show, view, request, site, (member, found), _known_arguments(view, given))

            self.get(path)(self._endpoint(path, view, answer, reads=False))
            return view

        return add

    def form(
        self, path: str, again: Callable[..., object] | None, *, least: Role | None = None, archived: bool = False
    ) -> Callable[[V], V]:
        """Answer POST with what a function changes; with *archived*, also in a class that is.

        Instead of an address it may return a page that has a template registered, or else its own to be shown again;
        of these, only what led to the first is stored.
        """

        def add(change: V) -> V:
            async def answer(request: Request, site: Site, visiting: Visiting, given: Mapping[str, Any]) -> Response:
                role = least or self._least
                member = await self._membership(request, site, visiting, given, role, archived=archived)
                sent = await _form_fields(request, change)
                return await aside(self._change, change, again, request, site, member, {**given, **sent})

            self.post(path, dependencies=[FromHere])(self._endpoint(path, change, answer, reads=True))
            return change

        return add

    def preview(self, path: str, view: Callable[..., object], *, least: Role | None = None) -> None:
        """Answer POST with the page of what was sent, which changes nothing."""

        async def answer(request: Request, site: Site, visiting: Visiting, given: Mapping[str, Any]) -> Response:
            who = await self._membership(request, site, visiting, given, least or self._least)
            sent = await _form_fields(request, view)
            return await aside(self.show, view, request, site, who, {**given, **sent})

        self.post(path, dependencies=[FromHere])(self._endpoint(path, view, answer, reads=True))

    def show(
        self,
        view: Callable[..., object],
        request: Request,
        site: Site,
        who: tuple[Membership, Assignment | None],
        given: Mapping[str, Any],
        error: InputError | None = None,
    ) -> Response:
        """The page of *view*; with an *error*, why nothing was changed."""
        try:
            with open_session(site.engine) as session:
                visit = _visit(request, site, session, who, error)
                return self._rendered(visit, view, view(visit, **_known_arguments(view, given)))
        except InputError as found:
            if error:
                raise
            return self.show(view, request, site, who, given, found)

    def _change(
        self,
        change: Callable[..., object],
        again: Callable[..., object] | None,
        request: Request,
        site: Site,
        who: tuple[Membership, Assignment | None],
        given: Mapping[str, Any],
    ) -> Response:
        member, found = who
        try:
            with open_writing_session(site.engine) as session:
                if member.role > Role.STUDENT:
                    hold(session, member.class_id)
                now = assignment_to_change(session, found.id) if found and member.role > Role.STUDENT else found
                visit = _visit(request, site, session, (member, now))
                result = change(visit, **_known_arguments(change, given))
                if type(result) in self._templates or isinstance(result, str | Response):
                    session.commit()
                if isinstance(result, str):
                    return RedirectResponse(result, 303)
                return self._rendered(visit, again or change, result)
        except InputError as error:
            if again is None:
                raise
            return self.show(again, request, site, who, given, error)

    def _rendered(self, visit: ClassVisit, view: Callable[..., object], page: object) -> Response:
        if isinstance(page, Response):
            return page
        template = self._templates.get(type(page)) or self._templates[view]
        head = class_head(visit.member, template.tab)
        if error := visit.error:
            problems = error.problems if isinstance(error, FormError) else {}
            head = replace(head, problem=sentence(str(error)), problems=problems)
        known = {name: getattr(page, name) for name in getattr(page, "__slots__", ())}
        values = {"name": visit.title, "title": visit.title, **known}
        title = translate(template.title, **values) if template.title else str(values.get("heading") or visit.title)
        around = frame(visit.request, title, here="classes")
        return render(template.name, around, page, 422 if visit.error else 200, head=head)

    async def _membership(
        self,
        request: Request,
        site: Site,
        visiting: Visiting,
        given: Mapping[str, Any],
        least: Role,
        *,
        archived: bool = False,
    ) -> tuple[Membership, Assignment | None]:
        if "class_id" in given:
            return await in_class(request, site, visiting, given["class_id"], least, archived=archived), None
        return await in_assignment(request, site, visiting, given["assignment"], least)

    def _endpoint(
        self, path: str, work: Callable[..., object], answer: Callable[..., Any], *, reads: bool
    ) -> Callable[..., Any]:
        """*answer* as FastAPI calls it: with what an address says, and *work* needs to know."""

        async def endpoint(request: Request, site: Here, visiting: Visiting, **given: Any) -> Response:
            answered: Response = await answer(request, site, visiting, given)
            return answered

        own = inspect.signature(endpoint).parameters
        places = {
            name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=int)
            for name in _PLACE.findall(self.prefix + path)
        }
        asked = {} if reads else dict(_page_parameters(work))
        parameters = [*list(own.values())[:-1], *({**asked, **places}).values()]
        endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        endpoint.__name__, endpoint.__doc__ = work.__name__, work.__doc__
        return endpoint


def csv_response(visit: ClassVisit, text: str, kind: str) -> Response:
    """The CSV file of a *kind* about the class of a visit."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", visit.title).strip("-") or "class"
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{kind}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _page_parameters(view: Callable[..., object]) -> Iterable[tuple[str, inspect.Parameter]]:
    """The parameters of a page that its address has; those by keyword alone are not, nor is what may be None."""
    for name, one in list(inspect.signature(view).parameters.items())[1:]:
        kind = inspect.Parameter.KEYWORD_ONLY
        if one.kind is kind:
            continue  # for other functions
        if name != "sent":
            yield name, one.replace(kind=kind)
        elif one.default is _EMPTY:
            yield name, one.replace(kind=kind, annotation=Annotated[one.annotation, Query()])


def _known_arguments(work: Callable[..., object], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those of the values *given* that a function takes."""
    names = inspect.signature(work).parameters
    known = {name: value for name, value in given.items() if name in names}
    form = names["sent"].annotation if "sent" in names else object
    if not isinstance(known.get("sent"), form):  # another form of the same page was sent
        known.pop("sent", None)
        return known if names["sent"].default is not _EMPTY else {**known, "sent": form()}
    return known


async def _form_fields(request: Request, change: Callable[..., object]) -> Mapping[str, Any]:
    """What a form function takes of the body of *request*.

    Raises:
        RequestValidationError: it is not such a form.
    """
    known = inspect.signature(change).parameters.get("sent")
    if known is None:
        return {}
    form: type[ClassForm] = next(iter(get_args(known.annotation)), known.annotation)
    files = int(issubclass(form, FileForm))
    async with request.form(max_files=files, max_fields=_MOST_FIELDS, max_part_size=_LARGEST_PART) as data:
        try:
            return {"sent": form.read(data)}
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from None


def _visit(
    request: Request,
    site: Site,
    session: Session,
    who: tuple[Membership, Assignment | None],
    error: InputError | None = None,
) -> ClassVisit:
    member, found = who
    if found is None:
        return ClassVisit(request=request, site=site, session=session, member=member, error=error)
    return AssignmentVisit(request=request, site=site, session=session, member=member, assignment=found, error=error)
