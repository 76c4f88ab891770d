"""Figures of explorers, on the explorers' pages and on others."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from urllib.parse import urlencode

from fastapi import Response
from markupsafe import Markup

from app.core.charts.axes import NARROW, WIDE, Drawing, Paper
from app.core.charts.svg import to_svg
from app.core.charts.timeline import Timeline
from app.core.errors import NotFoundError
from app.core.translation import language, translate
from app.course.content.errata import mark
from app.course.explorers import (
    EXPLORERS,
    Explorer,
    ExplorerOutput,
    Figure,
    OpenExplorer,
    Values,
    guess_question,
    open_explorer,
    predicted_figure,
)
from app.course.kinds.base import EmbeddedFigures
from app.site.markdown import inline_html
from app.site.web.explore.merged_pages import page_url
from app.site.web.explore.state import url_state
from app.site.web.urls import explorer_url

BOTH = (WIDE, NARROW)
_KEPT = 64  # embedded views of chapters and exercises that are cached


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureView:
    """A figure as SVG and as a table; *plays*: it can be animated."""

    anchor: str
    title: str
    svg: Markup
    table: tuple[tuple[str, ...], ...]
    href: str
    svg_href: str
    csv_href: str
    plays: bool


@dataclass(frozen=True, slots=True)
class GuessForm:
    """The form for a prediction: the question, the label of the number, the controls' state."""

    action: str
    question: Markup
    label: str
    state: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EmbeddedView:
    """Figures of an explorer on another page; with *guess*, they are shown after a prediction."""

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
    found = open_explorer(EXPLORERS, name, dict(state))
    explorer = found.explorer
    guess = guess_form(explorer, found.values, found.shown) if predict else None
    return EmbeddedView(
        translate(explorer.title),
        page_url(explorer, url_state(explorer, found.values)),
        () if guess else _chosen(number, found),
        guess,
    )


def taste() -> EmbeddedView:
    """A pipeline whose bubble the visitor predicts, without the numbers that give it away."""
    return _taste(language())


@cache
def _taste(spoken: str) -> EmbeddedView:
    found = open_explorer(EXPLORERS, "pipeline")
    timeline = found.shown.figures[0]
    if isinstance(timeline, Timeline):
        timeline = replace(timeline, summary="")
    views = figure_views(found.explorer, found.values, (timeline,))
    guess = guess_form(found.explorer, found.values, found.shown)
    title = translate(found.explorer.title)
    return EmbeddedView(title, explorer_url(found.explorer.name), views, guess)


def _chosen(number: int | None, found: OpenExplorer) -> tuple[FigureView, ...]:
    views = figure_views(found.explorer, found.values, found.shown.figures)
    return views if number is None else views[number : number + 1]


def figure_views(
    explorer: Explorer, values: Values, figures: Iterable[Figure], papers: Sequence[Paper] = BOTH
) -> tuple[FigureView, ...]:
    """Views of *figures* of *explorer*, drawn on each of *papers*."""
    state = url_state(explorer, values)
    base, page = explorer_url(explorer.name), page_url(explorer, state)
    views = (
        figure_view(figure, base, n, f"?{urlencode(state)}", explorer.name, papers) for n, figure in enumerate(figures)
    )
    if not explorer.part_of:
        return tuple(views)
    return tuple(replace(view, href=page) for view in views)


def guess_form(explorer: Explorer, values: Values, shown: ExplorerOutput) -> GuessForm | None:
    """The form for a prediction, if there is something to predict."""
    fact = predicted_figure(explorer, shown)
    if fact is None:
        return None
    return GuessForm(
        explorer_url(explorer.name),
        mark(inline_html(guess_question(explorer, values))),
        translate(explorer.predicts),
        tuple(url_state(explorer, values).items()),
    )


def figure_view(
    figure: Figure, base: str, number: int, query: str = "", name: str = "", papers: Sequence[Paper] = BOTH
) -> FigureView:
    """The view of *figure*, which has the index *number* on the page at *base*."""
    anchor = f"figure-{name}-{number}" if name else f"figure-{number}"
    return FigureView(
        anchor=anchor,
        title=figure.title,
        svg=drawn_on(papers, figure),
        table=figure.table,
        href=f"{base}{query}#{anchor}",
        svg_href=f"{base}/{number}.svg{query}",
        csv_href=f"{base}/{number}.csv{query}",
        plays=isinstance(figure, Timeline),
    )


@dataclass(frozen=True, slots=True)
class TabledDrawing:
    """A drawing and its table, and how to read them."""

    title: str
    svg: Markup
    table: tuple[tuple[str, ...], ...]
    says: str


def tabled_drawing(drawing: Drawing, says: str = "") -> TabledDrawing:
    """*drawing* on both papers; by default, its summary says how to read it."""
    svg = drawn_on(BOTH, drawing)
    return TabledDrawing(drawing.title, svg, drawing.table, says or drawing.summary)


def drawn_on(papers: Sequence[Paper], figure: Figure) -> Markup:
    """*figure* on each of *papers*; the style sheet shows the one that fits."""
    drawn = (to_svg(figure, alone=False, paper=paper) for paper in papers)
    return Markup("").join(map(Markup, drawn))  # made by our own template, which escapes


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
