"""/labs: the list of labs; /labs/LAB/board: one compared across machines."""

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fastapi import Request, Response
from starlette.datastructures import UploadFile

from app.core.errors import AppError, InputError, UnavailableError, sentence
from app.core.translation import noted, translate
from app.labs.results.analysis import shipped_runs
from app.labs.results.report import Report
from app.labs.run import new_name
from app.labs.spec import Lab, known_labs, lab_called
from app.server.aside import aside
from app.server.db.lab_runs import SENT, counted_runs, keep_sent
from app.server.db.run_state import RunState
from app.server.db.session import open_session
from app.server.db.tables import LabRunRow
from app.server.network.door import note_trouble
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.labs.match import BORROWING
from app.site.labs.upload import FILE_LIMIT, read_sent_file
from app.site.labs.words import translate_lab
from app.site.web.explore.figures import FigureView, figure_file, figure_view
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting, remember, spend, spend_storage, visitor_learner
from app.site.web.labs.pictures import HEIGHT, WIDTH, PicturePath, picture_of
from app.site.web.labs.predictions import HELD, KINDS, guess_label, held_over, machine_of
from app.site.web.labs.run_comparison import (
    LETTERS,
    MachineRow,
    RunGroup,
    entries_of,
    figure_of,
    groups_of,
    hardware_of,
    runs_on,
)
from app.site.web.measured.page import PublishedGroup, published_groups, published_hardware
from app.site.web.urls import chapter_url, lab_url, run_url

router = Router(prefix="/labs")
_GROUPS = 12  # on one page


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """A group of runs with the same parameters, one per machine."""

    parameters: str
    figure: FigureView
    held: str
    over: str
    lettered: bool
    varies: bool
    has_formula: bool
    entries: tuple[MachineRow, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabBoardPage:
    """A lab on every machine that has run it."""

    lab: Hyperlink
    kind: str
    asks: str
    groups: tuple[GroupView, ...]
    left_out: int
    command: str
    limit: str
    problem: str
    published: tuple[PublishedGroup, ...]
    hardware: str
    known: tuple[str, ...]


@router.get("/{name}/board")
async def show_lab_board(request: Request, site: Here, name: str, hardware: str = "") -> Response:
    """Show one lab on every machine that has run it, or on the *hardware* that is asked for."""
    return await aside(_board_page, request, site, translate_lab(lab_called(name)), None, hardware)


@router.post("/{name}/board", dependencies=[FromHere])
async def add_board_run(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """Add a run of another machine; further runs in the file go to the boards of their labs."""
    lab, learner = translate_lab(lab_called(name)), visitor_learner(visiting)
    spend(site.allowances.sent_runs, "sent runs")
    try:
        text = await _sent_text(request)
        rows = await aside(_rows, lab, text, learner)
        spend_storage(site, len(text))
        if len(rows) > 1:
            spend(site.allowances.sent_runs, "sent runs", len(rows) - 1)
        for row in rows:
            await aside(keep_sent, site.engine, row)
    except (InputError, UnavailableError) as error:
        if isinstance(error, UnavailableError):
            note_trouble(request, error, error.cause)
        return await aside(_board_page, request, site, lab, error)
    response = Response(status_code=303, headers={"Location": run_url(lab.name, rows[0].name)})
    remember(request, response, learner, site.secret)
    return response


@router.get("/{name}/board/{number}.{form}")
async def download_board_figure(site: Here, name: str, number: int, form: str) -> Response:
    """A figure of the board as an SVG file, or its values as CSV."""
    lab = translate_lab(lab_called(name))
    return await aside(_file, site, lab, number, form)


def _file(site: Site, lab: Lab, number: int, form: str) -> Response:
    figures = [figure_of(lab, group) for group in groups_of(site, lab)]
    return figure_file(figures, number, form, f"{lab.name}-board")


async def _sent_text(request: Request) -> str:
    async with request.form(max_files=1, max_fields=2) as form:
        file = form.get("run")
        sent = await file.read() if isinstance(file, UploadFile) else str(file or "").encode()
    try:
        text = sent.decode()
    except UnicodeDecodeError:
        raise InputError(translate("this file is not UTF-8 text")) from None
    if not text.strip():
        raise InputError(translate("choose a file written by `wallclock lab run ... --json`"))
    return text


def _rows(lab: Lab, text: str, learner: str) -> Sequence[LabRunRow]:
    """The runs in a file, those of *lab* first."""
    reports = sorted(read_sent_file(text), key=lambda report: report.lab != lab.name)
    if reports[0].lab != lab.name:
        raise InputError(
            translate("this is a run of {lab}, but this is the board of {name}", lab=reports[0].lab, name=lab.name)
        )
    return [_board_row(report, learner) for report in reports]


def _board_row(report: Report, learner: str) -> LabRunRow:
    name = new_name(report.lab)
    return LabRunRow(
        name=name,
        lab=report.lab,
        given=json.dumps(dict(report.given)),
        backend=report.backend,
        host=SENT,
        pool=name,
        learner=learner,
        state=RunState.DONE,
        report=replace(report, id=name).as_json(),
    )


def _board_page(request: Request, site: Site, lab: Lab, error: AppError | None = None, hardware: str = "") -> Response:
    groups = groups_of(site, lab)
    on_it = [(n, one) for n, one in enumerate(groups) if runs_on(one, hardware)]
    shown = on_it[:_GROUPS]
    collectives = lab.name == BORROWING
    known = dict.fromkeys(hardware_of(run.report) for group in groups for run in group.runs)
    page = LabBoardPage(
        lab=Hyperlink(lab_url(lab.name), lab.title),
        kind=translate(KINDS[lab.links]),
        asks=guess_label(lab, lab.asked_of(lab.starts)),
        groups=tuple(_view(lab, group, number, hardware) for number, group in shown),
        left_out=len(on_it) - len(shown),
        command=f"wallclock lab run {lab.name} --json > run.json",
        limit=f"{FILE_LIMIT // 1024} KiB",
        problem=sentence(str(error)) if error else "",
        published=published_groups(hardware) if collectives and _has(hardware) else (),
        hardware=hardware,
        known=tuple(dict.fromkeys((*known, *(published_hardware() if collectives else ())))),
    )
    status = 200 if error is None else 422 if isinstance(error, InputError) else 503
    title = translate("{title}: all machines", title=lab.title)
    around = frame(request, title, lab.summary, "labs")
    return render("labs/board.html", around, page, status)


def _has(hardware: str) -> bool:
    """Whether there are published tests on *hardware*."""
    return not hardware or hardware in published_hardware()


def _view(lab: Lab, group: RunGroup, number: int, hardware: str) -> GroupView:
    return GroupView(
        parameters=group.parameters,
        figure=figure_view(figure_of(lab, group), f"{lab_url(lab.name)}/board", number),
        held=translate(HELD[group.held]),
        over=held_over(group.held, "formula"),
        lettered=group.names[0] in LETTERS,
        varies=group.varies,
        has_formula=group.has_formula,
        entries=tuple(entries_of(lab, group, hardware)),
        left_out=max(0, len(group.runs) - len(LETTERS)),
    )


_MINUTE, _COARSE = 60.0, 10.0
# What a lab needs, by the word in the address.
_NEEDS: Mapping[str, tuple[str, Callable[[Lab], bool]]] = {
    "gpu": (noted("GPUs or CPUs"), lambda lab: lab.gpu is not None),
    "processor": (noted("CPUs only"), lambda lab: lab.gpu is None),
}
_MINE = {"new": noted("not run by me yet"), "done": noted("run by me")}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabCard:
    """A lab in the list; *done*: this learner has run it."""

    name: str
    href: str
    title: str
    summary: str
    kind: str
    picture: tuple[PicturePath, ...]
    chapters: tuple[Hyperlink, ...]
    position: float
    seconds: float
    takes: str
    needs: str
    runs: int
    machines: int
    done: bool


_ORDERS: Mapping[str, tuple[str, Callable[[LabCard], tuple[float | str, ...]]]] = {
    "chapter": (noted("by chapter"), lambda card: (card.position, card.title)),
    "time": (noted("quickest first"), lambda card: (card.seconds, card.title)),
    "title": (noted("by title"), lambda card: (card.title.casefold(),)),
}


@dataclass(frozen=True, slots=True)
class FilterOption:
    """One of several values of a field in the address."""

    value: str
    text: str
    is_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LabList:
    """The labs that were asked for, and what else could be."""

    cards: tuple[LabCard, ...]
    count: int
    is_all: bool
    width: int
    height: int
    fields: tuple[tuple[str, str, tuple[FilterOption, ...]], ...]


@router.get("")
async def lab_list(request: Request, site: Here, visiting: Visiting) -> Response:
    """List the labs; a filter that is unknown is as none."""
    asked = {name: request.query_params.get(name, "") for name in ("chapter", "needs", "mine")}
    order = request.query_params.get("order", "")
    cards = await aside(_cards, site, visiting.learner)
    page = _lab_list_page(site, cards, asked, order if order in _ORDERS else "chapter")
    says = translate("Predict a number of distributed training, then measure it with PyTorch.")
    return render("labs/labs.html", frame(request, translate("Labs"), says, "labs"), page)


def _lab_list_page(site: Site, cards: Sequence[LabCard], asked: Mapping[str, str], order: str) -> LabList:
    chapters = {topic.id: topic.title for topic in site.catalog.topics}
    used = {link.href for card in cards for link in card.chapters}
    options = {
        "chapter": {key: text for key, text in chapters.items() if chapter_url(key) in used},
        "needs": {key: translate(text) for key, (text, _) in _NEEDS.items()},
        "mine": {key: translate(text) for key, text in _MINE.items()},
    }
    shown = [card for card in cards if _fits(card, asked)]
    fields = [
        (
            name,
            label,
            (FilterOption("", translate("all"), is_on=not asked[name]), *_choices(options[name], asked[name])),
        )
        for name, label in (
            ("chapter", translate("Chapter")),
            ("needs", translate("Needs")),
            ("mine", translate("My runs")),
        )
    ]
    orders = {key: translate(text) for key, (text, _) in _ORDERS.items()}
    return LabList(
        cards=tuple(sorted(shown, key=_ORDERS[order][1])),
        count=len(cards),
        is_all=len(shown) == len(cards),
        width=WIDTH,
        height=HEIGHT,
        fields=(*fields, ("order", translate("Order"), tuple(_choices(orders, order)))),
    )


def _choices(options: Mapping[str, str], chosen: str) -> Iterator[FilterOption]:
    return (FilterOption(value, text, is_on=value == chosen) for value, text in options.items())


def _fits(card: LabCard, asked: Mapping[str, str]) -> bool:
    """Whether *card* passes every filter that is known."""
    chapter, needs, mine = asked["chapter"], asked["needs"], asked["mine"]
    return (
        (not chapter or chapter_url(chapter) in {link.href for link in card.chapters})
        and (needs not in _NEEDS or _NEEDS[needs][1](known_labs()[card.name]))
        and (mine not in _MINE or card.done == (mine == "done"))
    )


def _cards(site: Site, learner: str) -> Sequence[LabCard]:
    with open_session(site.engine) as session:
        counts = counted_runs(session)
        own = counted_runs(session, learner) if learner else {}
    topics = _topics(site)
    return [
        _card(translate_lab(lab), topics.get(lab.name, ()), counts.get(lab.name, 0), done=lab.name in own)
        for lab in known_labs().values()
    ]


def _topics(site: Site) -> Mapping[str, Sequence[tuple[float, Hyperlink]]]:
    """The chapters whose exercises use each lab, and their positions."""
    found: dict[str, dict[str, tuple[float, Hyperlink]]] = {}
    for topic in site.catalog.topics:
        for exercise in topic.exercises:
            if name := exercise.runs_lab:
                link = Hyperlink(chapter_url(topic.id), topic.title)
                found.setdefault(name, {})[topic.id] = (topic.position, link)
    return {name: list(one.values()) for name, one in found.items()}


def _card(lab: Lab, topics: Sequence[tuple[float, Hyperlink]], runs: int, *, done: bool) -> LabCard:
    shipped = [report for report in shipped_runs() if report.lab == lab.name]
    times = [report.seconds for report in shipped if report.seconds]
    seconds = statistics.median(times) if times else lab.seconds
    return LabCard(
        name=lab.name,
        href=lab_url(lab.name),
        title=lab.title,
        summary=lab.summary,
        kind=translate(KINDS[lab.links]),
        picture=picture_of(lab.name),
        chapters=tuple(link for _, link in topics),
        position=min((position for position, _ in topics), default=float("inf")),
        seconds=seconds,
        takes=_takes(seconds) if times else translate("at most {time}", time=_takes(seconds)),
        needs=translate("CPUs or GPUs") if lab.gpu else "CPUs",
        runs=runs + len(shipped),
        machines=len({machine_of(report) for report in shipped}),
        done=done,
    )


def _takes(seconds: float) -> str:
    """A time for people who choose.

    >>> [_takes(seconds) for seconds in (0.4, 3.2, 47, 130)]
    ['1 s', '4 s', '50 s', '3 min']
    """
    if seconds > 2 * _MINUTE:
        return f"{-(-seconds // _MINUTE):.0f} min"
    step = _COARSE if seconds > _COARSE else 1
    return f"{step * -(-seconds // step):.0f} s"
