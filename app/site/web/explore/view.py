"""The pages of explorers as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from markupsafe import Markup

from app.core.charts.axes import Paper
from app.core.charts.svg import to_svg
from app.core.translation import Numeral, foreign, translate, translate_known
from app.course.content.catalog import Catalog
from app.course.content.errata import mark
from app.course.explorers import EXPLORERS, base, controls, explorer_pages
from app.site.markdown import first_sentence, html, inline_html, plain_words
from app.site.web.explore import state
from app.site.web.explore.figures import FigureView, GuessForm, figure_views, guess_form
from app.site.web.explore.layouts import RunPlan
from app.site.web.explore.prediction_check import PredictionVerdict, judge_prediction
from app.site.web.frame.renderer import Hyperlink
from app.site.web.urls import chapter_url, explorer_url, formula_url


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlView:
    """A control with its current value; *place* is the position of its slider, if it has one.

    *scaling* of the slider: empty if linear, log, or doubles for powers of two.
    """

    name: str
    label: str
    value: str
    unit: str = ""
    options: tuple[tuple[str, str], ...] = ()
    place: tuple[float, float, float, str] | None = None
    scaling: str = ""
    low: float = 0
    high: float = 0
    factor: float = 1.0  # base units in one of its own


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
    guessed: PredictionVerdict | None
    typed: str
    asks: bool
    hidden: bool
    question: Markup
    chapter: Hyperlink
    chapter_language: str  # of its title, if it is not that of the page
    formulas: tuple[Hyperlink, ...]
    groups: tuple[tuple[str, tuple[ControlView, ...]], ...]
    stated: str
    corrections: tuple[str, ...]
    problem: str
    says: Markup
    verdict: base.YesOrNo | None
    facts: tuple[state.ComparedFact, ...]
    figures: tuple[FigureView, ...]
    address: str
    tables: tuple[state.TableView, ...]
    packed: str  # the state as one text, where it is compared with the next
    description: str  # what it shows, in plain words
    plan: RunPlan | None = None

    @property
    def leading(self) -> tuple[FigureView, ...]:
        """The figures above the sentence: the first one, and the timelines that play together."""
        return (*self.figures[:1], *takewhile(lambda figure: figure.plays, self.figures[1:]))


@dataclass(frozen=True, slots=True)
class ExploreCard:
    """An explorer in the list, with its first figure in its initial state."""

    name: str
    title: str
    summary: str
    thumbnail: Markup


@cache
def explorer_cards(spoken: str, chapters: tuple[str, ...]) -> tuple[ExploreCard, ...]:
    """Every explorer in the language *spoken*, in the order of *chapters*."""
    places = {chapter: place for place, chapter in enumerate(chapters)}
    ordered = sorted(explorer_pages(), key=lambda one: places.get(one.chapter, len(places)))
    starts = ((one, base.open_explorer(EXPLORERS, one.name).shown) for one in ordered)
    return tuple(
        ExploreCard(
            one.name,
            translate(one.title),
            translate(one.summary),
            Markup(to_svg(shown.figures[0], alone=False)),  # made by our own template
        )
        for one, shown in starts
    )


def _control(control: controls.Control, value: controls.ControlValue) -> ControlView:
    if isinstance(control, controls.Select):
        options = tuple((one, translate_known(text)) for one, text in control.options.items())
        if value not in control.options:
            options = ((str(value), str(value)), *options)
        return ControlView(name=control.name, label=translate(control.label), value=str(value), options=options)
    value = control.default if isinstance(value, str) else value
    number, _, unit = controls.address_text(control, value).partition(" ")
    return ControlView(
        name=control.name,
        label=translate(control.label),
        value=Numeral(number),
        unit=unit,
        place=controls.slider_place(control, value),
        scaling="doubles" if control.doubles else "log" if control.log else "",
        low=control.low,
        high=control.high,
        factor=control.scale.factor,
    )


def explorer_page(
    course: Catalog,
    explorer: base.Explorer,
    query: Mapping[str, str],
    papers: Sequence[Paper],
    more: Sequence[base.StateTable] = (),
) -> ExplorePage:
    """The page of *explorer* in the state that *query* gives, its figures on *papers*; *more* tables come first."""
    values, corrections = state.control_values(explorer, query)
    shown, problem = state.explore_values(explorer, values)
    was, unread = state.unpack_state(explorer, query.get(state.WAS, ""))
    before = state.explore_values(explorer, was)[0] if was else None
    topic = course.topic(explorer.chapter)
    typed = query.get("guess", "").strip()[: state.LONGEST]
    fact = base.predicted_figure(explorer, shown)
    guessed = judge_prediction(course, explorer, values, fact, typed) if typed and fact else None
    asks = bool(fact or problem or not explorer.predicts)
    is_settled = bool(guessed and guessed.near is not None)
    hidden = asks and not is_settled and state.waits(explorer, query)
    guess = guess_form(explorer, values, shown)
    covered = fact.value if hidden and fact else ""
    if hidden and fact:
        shown, before = base.cover(shown, fact), None
    figures = base.with_ghosts(shown, before) if before else shown.figures
    title = translate(explorer.title)
    return ExplorePage(
        name=explorer.name,
        title=title,
        full_title=" · ".join(filter(None, (title, base.settings_text(explorer, values)))),
        summary=translate(explorer.summary),
        guess=guess,
        guessed=guessed,
        typed=typed,
        asks=asks,
        hidden=hidden,
        question=mark(inline_html(base.guess_question(explorer, values))),
        chapter=Hyperlink(chapter_url(topic.id), topic.title),
        chapter_language=foreign(topic.language),
        formulas=tuple(Hyperlink(formula_url(formula), formula) for formula in explorer.formulas),
        groups=tuple(
            (name and translate(name), tuple(_control(control, values[control.name]) for control in controls))
            for name, controls in controls.group_controls(explorer.controls).items()
        ),
        stated=" · ".join(f"{translate(c.label)} {controls.shown_text(c, values[c.name])}" for c in explorer.controls),
        corrections=(*corrections, *filter(None, (shown.notice, unread))),
        problem=problem,
        says=html(shown.says),
        verdict=shown.verdict,
        facts=state.fact_views(shown, before),
        figures=figure_views(explorer, values, figures, papers, covered),
        address=explorer_url(explorer.name, state.url_state(explorer, values)),
        tables=() if hidden else tuple(state.table_view(explorer, values, one) for one in (*more, *shown.tables)),
        packed=state.pack_state(explorer, values) if explorer.compares else "",
        description=plain_words(base.guess_question(explorer, values)) if hidden else first_sentence(shown.says),
    )
