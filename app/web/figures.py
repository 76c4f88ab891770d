"""Figures of explorers, on their own pages and in others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from markupsafe import Markup

from app.charts.drawn import drawn
from app.charts.timeline import Timeline
from app.explorers import (
    EXPLORERS,
    Explorer,
    Figure,
    Opened,
    Values,
    address_text,
    opened,
    read_controls,
)
from app.glossary import mark
from app.kinds.embedding import Embedded
from app.markdown import inline_html


@dataclass(frozen=True, slots=True)
class FigureView:
    """A figure, drawn, with the same in a table; *plays*: it runs over time."""

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
    """What a learner may predict: the question, the name of the number, the state it is for."""

    action: str
    question: Markup
    label: str
    state: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EmbeddedView:
    """Figures of an explorer on another page; with *guess*, they come after a prediction."""

    title: str
    href: str
    figures: tuple[FigureView, ...]
    guess: GuessForm | None


def embedded_view(figure: Embedded, state: Mapping[str, str]) -> EmbeddedView:
    """*figure* with its controls set to *state*."""
    found = opened(EXPLORERS, figure.explorer, state)
    explorer = found.explorer
    guess = guess_form(explorer, found.values) if figure.predict else None
    return EmbeddedView(
        explorer.title, address_of_state(explorer, found.values),
        () if guess else tuple(_chosen(figure, found)), guess,
    )  # fmt: skip


def taste() -> EmbeddedView:
    """A pipeline whose bubble is to be predicted, drawn without the figures that tell it."""
    found = opened(EXPLORERS, "pipeline")
    timeline = found.shown.figures[0]
    if isinstance(timeline, Timeline):
        timeline = replace(timeline, summary="")
    views = figure_views(found.explorer, found.values, (timeline,))
    guess = guess_form(found.explorer, found.values)
    return EmbeddedView(found.explorer.title, "/explore/pipeline", views, guess)


def _chosen(figure: Embedded, found: Opened) -> Iterable[FigureView]:
    views = figure_views(found.explorer, found.values, found.shown.figures)
    return views if figure.figure is None else views[figure.figure : figure.figure + 1]


def figure_views(
    explorer: Explorer, values: Values, figures: Iterable[Figure]
) -> tuple[FigureView, ...]:
    """All *figures* of *explorer*, drawn."""
    query = query_of(explorer, values)
    return tuple(_view(explorer, n, figure, query) for n, figure in enumerate(figures))


def guess_form(explorer: Explorer, values: Values) -> GuessForm | None:
    """The form that asks for a prediction, where there is a number to predict."""
    if not explorer.predicts:
        return None
    state = tuple(state_of(explorer, values).items())
    start = state_of(explorer, Values(read_controls(explorer.controls, {})[0]))
    labels = {control.name: control.label for control in explorer.controls}
    changed = [f"{labels[name]}: {text}" for name, text in state if text != start[name]]
    asked = f"What is “{explorer.predicts}” with {'; '.join(changed)}?"
    if not changed:
        asked = explorer.question
    return GuessForm(
        f"/explore/{explorer.name}", mark(inline_html(asked)), explorer.predicts, state
    )


def state_of(explorer: Explorer, values: Values) -> dict[str, str]:
    """The controls as an address has them."""
    return {c.name: address_text(c, values[c.name]) for c in explorer.controls}


def query_of(explorer: Explorer, values: Values) -> str:
    """The query of the address that shows *values*."""
    return urlencode(state_of(explorer, values))


def address_of_state(explorer: Explorer, values: Values) -> str:
    """The address that shows *values*."""
    return f"/explore/{explorer.name}?{query_of(explorer, values)}"


def _view(explorer: Explorer, number: int, figure: Figure, query: str) -> FigureView:
    base = f"/explore/{explorer.name}"
    return FigureView(
        f"figure-{explorer.name}-{number}",
        figure.title,
        Markup(drawn(figure, alone=False)),  # made by our own template, which escapes
        figure.table,
        f"{base}?{query}#figure-{explorer.name}-{number}",
        f"{base}/{number}.svg?{query}",
        f"{base}/{number}.csv?{query}",
        isinstance(figure, Timeline),
    )
