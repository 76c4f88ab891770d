"""/labs: the list of labs."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response

from app.core.translation import noted, translate
from app.labs.results.analysis import shipped_runs
from app.labs.spec import Lab, known_labs
from app.server.aside import aside
from app.server.db.lab_runs import counted_runs
from app.server.db.session import open_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.labs.words import translate_lab
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import Visiting
from app.site.web.labs.predictions import KINDS, machine_of
from app.site.web.urls import chapter_url, lab_url

router = Router(prefix="/labs")
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
