"""/explore: the explorers. The URL holds the state; the output is computed here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from fastapi import Request, Response
from markupsafe import Markup

from app.charts.paper import PAPERS, Paper
from app.charts.svg import to_svg
from app.content.glossary import mark
from app.errors import InputError
from app.explorers import (
    EXPLORERS,
    Control,
    ControlValue,
    Explorer,
    Select,
    Slider,
    Values,
    Verdict,
    address_text,
    grouped,
    opened,
    predicted,
    question,
    settings_text,
    shown_text,
    slider_place,
    untold,
    with_ghosts,
)
from app.markdown import html, inline_html
from app.network.routes import Router
from app.site import Here
from app.translation import language, translate, translate_known
from app.web.explore.card import explorer_card
from app.web.explore.figures import (
    BOTH,
    FigureView,
    GuessForm,
    figure_file,
    figure_views,
    guess_form,
)
from app.web.explore.other_states import (
    WAS,
    FactView,
    StatesView,
    fact_views,
    states_view,
    unpacked,
)
from app.web.explore.predicting import Guess, judged
from app.web.explore.state import (
    LONGEST,
    explored,
    explorer_called,
    state_of,
    values_in,
    waits,
)
from app.web.frame.preview import preview_of
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.urls import chapter_url, explorer_url, formula_url

router = Router(prefix="/explore")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlView:
    """A control with its current value; *place* is the position of its slider, if it has one.

    *scaling* of the slider: empty if linear, log, or doubles for powers of two.
    """

    name: str
    label: str
    value: str
    unit: str
    options: tuple[tuple[str, str], ...]
    place: tuple[float, float, float, str] | None
    scaling: str
    low: float
    high: float
    factor: float = 1.0  # base units in one of its own
    plays: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorePage:
    """An explorer in its current state; while *hidden*, it waits for an answer to *question*.

    *asks*: there is something to predict in this state; *full_title* says what was changed in it,
    and *stated*, for paper, the whole state.
    """

    name: str
    title: str
    full_title: str
    summary: str
    guess: GuessForm | None
    guessed: Guess | None
    typed: str
    asks: bool
    hidden: bool
    question: Markup
    chapter: Hyperlink
    formulas: tuple[Hyperlink, ...]
    groups: tuple[tuple[str, tuple[ControlView, ...]], ...]
    stated: str
    corrections: tuple[str, ...]
    problem: str
    says: Markup
    verdict: Verdict | None
    facts: tuple[FactView, ...]
    figures: tuple[FigureView, ...]
    address: str
    ended: bool
    states: StatesView


@dataclass(frozen=True, slots=True)
class ExploreCard:
    """An explorer in the list, with its first figure in its initial state."""

    name: str
    title: str
    summary: str
    thumbnail: Markup


@dataclass(frozen=True, slots=True)
class ExploreList:
    """All explorers."""

    cards: tuple[ExploreCard, ...]


@router.get("")
def explore_list(request: Request, site: Here) -> Response:
    """Every explorer, in the order of the chapters."""
    says = translate("Sliders and figures: all-reduce, pipelines, memory, rooflines, checkpoints.")
    around = frame(request, translate("Explore"), says, "explore")
    return render(
        "explore/explorers.html",
        around,
        ExploreList(_cards(language(), tuple(topic.id for topic in site.catalog.topics))),
    )


@cache
def _cards(spoken: str, chapters: tuple[str, ...]) -> tuple[ExploreCard, ...]:
    places = {chapter: place for place, chapter in enumerate(chapters)}
    ordered = sorted(EXPLORERS.values(), key=lambda one: places.get(one.chapter, len(places)))
    starts = ((one, opened(EXPLORERS, one.name).shown) for one in ordered)
    return tuple(
        ExploreCard(
            one.name,
            translate(one.title),
            translate(one.summary),
            Markup(to_svg(shown.figures[0], alone=False)),  # made by our own template
        )
        for one, shown in starts
    )


@router.get("/{name}")
def explore(request: Request, site: Here, name: str) -> Response:
    """One explorer, in the state given by the URL."""
    explorer = explorer_called(name)
    values, corrections = values_in(explorer, request.query_params)
    shown, problem = explored(explorer, values)
    was, unread = unpacked(explorer, request.query_params.get(WAS, ""))
    before = explored(explorer, was)[0] if was else None
    topic = site.catalog.topic(explorer.chapter)
    typed = request.query_params.get("guess", "").strip()[:LONGEST]
    fact = predicted(explorer, shown)
    guessed = judged(site.catalog, explorer, values, fact, typed) if typed and fact else None
    asks = bool(fact or problem or not explorer.predicts)
    is_settled = bool(guessed and guessed.near is not None)
    hidden = asks and not is_settled and waits(explorer, request.query_params)
    figures = with_ghosts(shown, before) if before else shown.figures
    if hidden and not problem:
        figures = tuple(untold(explorer, shown))
    title = translate(explorer.title)
    page = ExplorePage(
        name=explorer.name,
        title=title,
        full_title=" · ".join(filter(None, (title, settings_text(explorer, values)))),
        summary=translate(explorer.summary),
        guess=guess_form(explorer, values, shown),
        guessed=guessed,
        typed=typed,
        asks=asks,
        hidden=hidden,
        question=mark(inline_html(question(explorer, values))),
        chapter=Hyperlink(chapter_url(topic.id), topic.title),
        formulas=tuple(Hyperlink(formula_url(formula), formula) for formula in explorer.formulas),
        groups=tuple(_groups(explorer, values)),
        stated=" · ".join(
            f"{translate(c.label)} {shown_text(c, values[c.name])}" for c in explorer.controls
        ),
        corrections=(*corrections, *filter(None, (shown.notice, unread))),
        problem=problem,
        says=html(shown.says),
        verdict=shown.verdict,
        facts=fact_views(shown, before),
        figures=figure_views(explorer, values, figures, _papers(request)),
        address=explorer_url(explorer.name, state_of(explorer, values)),
        ended=shown.ended,
        states=states_view(explorer, values, shown, hidden),
    )
    fragment = request.headers.get("x-fragment") == "1"
    card = explorer_card(explorer, topic.title, values, shown, hidden=hidden)
    around = frame(
        request,
        page.full_title,
        card.says or translate(explorer.summary),
        "explore",
        preview_of(f"{page.address}&predict=1" if hidden else page.address, card),
    )
    return render(
        "explore/asked_and_explored.html" if fragment else "explore/explorer.html", around, page
    )


@router.get("/{name}/{number}.{form}")
def download(request: Request, name: str, number: int, form: str) -> Response:
    """One figure as a standalone SVG file, or its values as CSV."""
    explorer = explorer_called(name)
    values, _ = values_in(explorer, request.query_params)
    shown, problem = explored(explorer, values)
    if problem:
        raise InputError(problem)
    return figure_file(shown.figures, number, form, explorer.name)


def _papers(request: Request) -> Sequence[Paper]:
    """What a script asks for: the paper that it shows. A page without scripts has them all."""
    asked = PAPERS.get(request.headers.get("x-paper", ""))
    return (asked,) if asked else BOTH


def _groups(explorer: Explorer, values: Values) -> Iterator[tuple[str, tuple[ControlView, ...]]]:
    for name, controls in grouped(explorer.controls).items():
        yield (
            name and translate(name),
            tuple(_control(control, values[control.name]) for control in controls),
        )


def _control(control: Control, value: ControlValue) -> ControlView:
    if isinstance(control, Select):
        options = tuple((value, translate_known(text)) for value, text in control.options.items())
        return ControlView(
            name=control.name,
            label=translate(control.label),
            value=str(value),
            unit="",
            options=options,
            place=None,
            scaling="",
            low=0,
            high=0,
        )
    return _slider(control, value if not isinstance(value, str) else control.default)


def _slider(control: Slider, value: float) -> ControlView:
    number, _, unit = address_text(control, value).partition(" ")
    return ControlView(
        name=control.name,
        label=translate(control.label),
        value=number,
        unit=unit,
        options=(),
        place=slider_place(control, value),
        scaling="doubles" if control.doubles else "log" if control.log else "",
        low=control.low,
        high=control.high,
        factor=control.scale.factor,
        plays=control.plays,
    )
