"""Figures of explorers, on the explorers' pages and on others."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from urllib.parse import urlencode

from fastapi import Response
from markupsafe import Markup, escape

from app.core.charts.axes import NARROW, WIDE, Paper
from app.core.charts.motion import Motion
from app.core.charts.svg import Figure, to_svg
from app.core.charts.timeline import Timeline
from app.core.errors import NotFoundError
from app.core.motions.rings import ring_motion
from app.core.translation import language, translate
from app.course.content.errata import mark
from app.course.explorers import EXPLORERS, base
from app.course.illustrations import illustrate
from app.course.kinds.base import EmbeddedFigures, ExerciseFigure
from app.course.kinds.drawn_values import NOTHING_DRAWN
from app.site.markdown import inline_html
from app.site.web.explore.state import page_url, url_state
from app.site.web.urls import explorer_url

BOTH = (WIDE, NARROW)
_RANKS = 8  # of the ring on the front page
_TEXT = re.compile(r'>[^<]+<|(?:aria-label|data-says)="[^"]*"')  # of a figure
_DRAWN = 128  # figures that are cached: most visitors look at an explorer as it is opened
_KEPT = 64  # embedded views of chapters and exercises that are cached


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureView:
    """A figure as SVG and as a table; one that *plays* has moments, or the frames of a *motion*."""

    anchor: str
    title: str
    svg: Markup
    table: tuple[tuple[str, ...], ...]
    href: str
    svg_href: str
    csv_href: str
    plays: bool
    motion: Motion | None = None

    @property
    def moves(self) -> Markup:
        """The attributes that the player reads."""
        return Markup(" data-timeline") if self.plays else player_data(self.motion)


def player_data(motion: Motion | None) -> Markup:
    """The frames of *motion* and what they say, as attributes; nothing where nothing moves."""
    if motion is None:
        return Markup()
    runs = Markup(" data-runs") if motion.runs else Markup()
    return Markup(' data-frames="{}" data-says="{}"{}').format(motion.changes, motion.said, runs)


@dataclass(frozen=True, slots=True)
class GuessForm:
    """The form for a prediction: the question, the label of the number, the controls' state."""

    action: str
    question: Markup
    label: str
    state: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EmbeddedView:
    """Figures of an explorer on another page; with *guess*, what is asked is covered in them."""

    title: str
    href: str
    figures: tuple[FigureView, ...]
    guess: GuessForm | None


def embedded_view(figure: EmbeddedFigures, state: Mapping[str, str]) -> EmbeddedView:
    """*figure* with its controls set to *state*."""
    return _embedded(language(), figure.explorer, tuple(state.items()), figure.figure, figure.predict)


@lru_cache(maxsize=_KEPT)
def _embedded(
    spoken: str,  # the language is a part of the key
    name: str,
    state: tuple[tuple[str, str], ...],
    number: int | None,
    predict: bool,
) -> EmbeddedView:
    found = base.open_explorer(EXPLORERS, name, dict(state))
    explorer = found.explorer
    fact = base.predicted_figure(explorer, found.shown) if predict else None
    shown = base.cover(found.shown, fact) if fact else found.shown
    views = figure_views(explorer, found.values, shown.figures, covered=fact.value if fact else "")
    return EmbeddedView(
        translate(explorer.title),
        page_url(explorer, url_state(explorer, found.values)),
        views if number is None else views[number : number + 1],
        guess_form(explorer, found.values, found.shown) if predict else None,
    )


def illustrated_view(figure: ExerciseFigure) -> EmbeddedView:
    """A figure that moves, in a chapter: its state is fixed."""
    return _illustrated(language(), figure.model_dump_json(by_alias=True))


@lru_cache(maxsize=_KEPT)
def _illustrated(spoken: str, figure: str) -> EmbeddedView:
    asked = ExerciseFigure.model_validate_json(figure)
    found = illustrate(asked, NOTHING_DRAWN)
    view = replace(figure_view(found, "", 0, name=asked.draws), svg_href="", csv_href="")
    return EmbeddedView(found.title, "", (view,), None)


@cache
def opening_figure(spoken: str) -> FigureView:
    """The ring of the front page in the language *spoken*, which plays as it is opened."""
    return replace(figure_view(ring_motion(_RANKS, runs=True), "", 0, name="ring"), svg_href="", csv_href="")


def figure_views(
    explorer: base.Explorer,
    values: base.Values,
    figures: Iterable[Figure],
    papers: Sequence[Paper] = BOTH,
    covered: str = "",
) -> tuple[FigureView, ...]:
    """Views of *figures* of *explorer*, drawn on each of *papers*, without the value that is *covered*."""
    state = url_state(explorer, values)
    base, page = explorer_url(explorer.name), page_url(explorer, state)
    query = f"?{urlencode(state)}"
    views = (figure_view(one, base, n, query, explorer.name, papers, covered) for n, one in enumerate(figures))
    if not explorer.part_of:
        return tuple(views)
    return tuple(replace(view, href=page) for view in views)


def guess_form(explorer: base.Explorer, values: base.Values, shown: base.ExplorerOutput) -> GuessForm | None:
    """The form for a prediction, if there is something to predict."""
    fact = base.predicted_figure(explorer, shown)
    if fact is None:
        return None
    return GuessForm(
        explorer_url(explorer.name),
        mark(inline_html(base.guess_question(explorer, values))),
        translate(explorer.predicts),
        tuple(url_state(explorer, values).items()),
    )


def figure_view(
    figure: Figure,
    base: str,
    number: int,
    query: str = "",
    name: str = "",
    papers: Sequence[Paper] = BOTH,
    covered: str = "",
) -> FigureView:
    """The view of *figure*, which has the index *number* on the page at *base*, without the value that is *covered*."""
    anchor = f"figure-{name}-{number}" if name else f"figure-{number}"
    return FigureView(
        anchor=anchor,
        title=figure.title,
        svg=drawn_on(papers, figure, covered),
        table=() if covered else figure.table,
        href=f"{base}{query}#{anchor}",
        svg_href=f"{base}/{number}.svg{query}",
        csv_href=f"{base}/{number}.csv{query}",
        plays=isinstance(figure, Timeline),
        motion=figure if isinstance(figure, Motion) else None,
    )


def drawn_on(papers: Sequence[Paper], figure: Figure, covered: str = "") -> Markup:
    """*figure* on each of *papers*; the style sheet shows the one that fits.

    In its texts, a question mark stands in place of the value that is *covered*.
    """
    return _drawn(language(), tuple(papers), figure, covered)


@lru_cache(maxsize=_DRAWN)
def _drawn(spoken: str, papers: tuple[Paper, ...], figure: Figure, covered: str) -> Markup:
    drawn = "".join(to_svg(figure, alone=False, paper=paper) for paper in papers)
    if covered:
        value = re.compile(rf"(?<![\d.,]){re.escape(str(escape(covered)))}(?!\d)")
        drawn = _TEXT.sub(lambda text: value.sub(base.COVER, text[0]), drawn)
    return Markup(drawn)  # made by our own template, which escapes


def figure_file(figures: Sequence[Figure], number: int, form: str, name: str) -> Response:
    """One of *figures* as a standalone SVG file, or its values as CSV.

    Raises:
        NotFoundError: the figure or the format does not exist.
    """
    if form not in ("svg", "csv") or not 0 <= number < len(figures):
        raise NotFoundError(
            translate("{name} has {figures} figures, as .svg and .csv", name=name, figures=len(figures))
        )
    figure = figures[number]
    headers = {"Content-Disposition": f'attachment; filename="{name}-{number}.{form}"'}
    if form == "svg":
        return Response(to_svg(figure, alone=True), media_type="image/svg+xml", headers=headers)
    text = io.StringIO()
    csv.writer(text).writerows(figure.table)
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)
