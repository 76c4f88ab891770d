"""/labs: the list of labs."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response

from app.core.translation import translate
from app.labs.results.analysis import shipped_runs
from app.labs.spec import Lab, known_labs
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LabCard:
    """A lab in the list; *done*: this learner has run it."""

    href: str
    title: str
    summary: str
    kind: str
    chapters: tuple[Hyperlink, ...]
    position: float
    takes: str
    needs: str
    runs: int
    machines: int
    done: bool


@router.get("")
def lab_list(request: Request, site: Here, visiting: Visiting) -> Response:
    """List the labs."""
    with open_session(site.engine) as session:
        counts = counted_runs(session)
        own = counted_runs(session, visiting.learner) if visiting.learner else {}
    topics = _topics(site)
    cards = [
        _card(translate_lab(lab), topics.get(lab.name, ()), counts.get(lab.name, 0), done=lab.name in own)
        for lab in known_labs().values()
    ]
    cards.sort(key=lambda card: (card.position, card.title))
    says = translate("Predict a number of distributed training, then measure it with PyTorch.")
    return render("labs/labs.html", frame(request, translate("Labs"), says, "labs"), cards)


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
        href=lab_url(lab.name),
        title=lab.title,
        summary=lab.summary,
        kind=translate(KINDS[lab.links]),
        chapters=tuple(link for _, link in topics),
        position=min((position for position, _ in topics), default=float("inf")),
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
