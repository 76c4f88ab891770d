"""The page about the trust in predictions as plain values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from app.core.charts.axes import Axis, percent_text
from app.core.charts.color import Color
from app.core.charts.scatter import Dot, DotGroup, Mark, Scatter
from app.core.errors import NotFoundError, nearest
from app.core.published import NEAR, Outcome, Source, outcomes, sources
from app.core.translation import language, noted, translate
from app.core.units import SECOND, show
from app.site.web.explore.figures import FigureView, figure_view
from app.site.web.frame.renderer import Hyperlink, ListFilter
from app.site.web.reference.trust_tables import (
    AccuracyRow,
    CoefficientRow,
    RunRow,
    accuracy_rows,
    coefficient_rows,
    error_text,
    predicted_text,
    run_rows,
    said,
    source_href,
)

TITLE = noted("How far to trust this")
SAYS = noted("The formulas against the training runs that others measured and published, row by row.")
ADDRESS = "/trust"
_STYLES: tuple[tuple[Color, Mark], ...] = (  # of the sources, those with the most rows first
    (Color.BLUE, "circle"),
    (Color.ORANGE, "square"),
    (Color.PURPLE, "triangle"),
    (Color.GREEN, "diamond"),
    (Color.ORANGE, "circle"),
    (Color.BLUE, "square"),
    (Color.GREEN, "triangle"),
    (Color.PURPLE, "diamond"),
    (Color.GRAY, "circle"),
)


@dataclass(frozen=True, slots=True)
class SourceSection:
    """A source with its rows."""

    source: Source
    rows: tuple[RunRow, ...]

    @property
    def has_memory(self) -> bool:
        """Whether memory was published, too."""
        return any(row.memory for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustPage:
    """The published runs, of one source if one is chosen."""

    title: str
    chosen: str
    count: int
    predicted: int
    within: int
    near: str
    filters: tuple[ListFilter, ...]
    figure: FigureView
    accuracies: tuple[AccuracyRow, ...]
    sections: tuple[SourceSection, ...]
    coefficients: tuple[CoefficientRow, ...]


def known_source(name: str) -> str:
    """*name*, if it is that of a source, or empty.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    known = [source.id for source in sources()]
    if name and name not in known:
        raise NotFoundError(
            translate("no source is called {name!r}{near}", name=name[:40], near=nearest(name[:40], known))
        )
    return name


def _of(chosen: str) -> tuple[Outcome, ...]:
    return tuple(one for one in outcomes() if chosen in ("", one.run.source.id))


@cache
def trust_page(spoken: str, chosen: str) -> TrustPage:
    """The page of the source with the id *chosen*, or of all of them."""
    found = _of(chosen)
    drawn = scatter_of(chosen)
    shown = [source for source in sources() if chosen in ("", source.id)]
    return TrustPage(
        title=shown[0].title if chosen else "",
        chosen=chosen,
        count=len(found),
        predicted=sum(one.prediction is not None for one in found),
        within=sum(one.is_near for one in found),
        near=percent_text(NEAR),
        filters=tuple(_filters(chosen)),
        figure=figure_view(drawn, ADDRESS, 0, f"?source={chosen}" if chosen else "", name="trust"),
        accuracies=tuple(accuracy_rows(found, shown)),
        sections=tuple(SourceSection(source, tuple(run_rows(_of(source.id)))) for source in shown),
        coefficients=tuple(coefficient_rows([one.run for one in found])),
    )


def _filters(chosen: str) -> Iterator[ListFilter]:
    every = sources()
    yield ListFilter(Hyperlink(ADDRESS, translate("All")), sum(map(len, every.values())), not chosen)
    for source, runs in every.items():
        link = Hyperlink(source_href(source), source.title)
        yield ListFilter(link, len(runs), chosen == source.id)


def scatter_of(chosen: str) -> Scatter:
    """The predicted steps over the measured ones."""
    groups = tuple(group for group in _groups(language()) if group.dots and chosen in ("", _ids()[group.name]))
    near = sum(one.is_near for one in _of(chosen))
    total = sum(len(group.dots) for group in groups)
    return Scatter(
        title=translate("Predicted and measured time of a step"),
        summary=translate(
            "Of {total} predicted steps, {near} are within {near_2} of the measured time "
            "or hold it. On the line, both are equal.",
            total=total,
            near=near,
            near_2=percent_text(NEAR),
        ),
        x=Axis(label=translate("measured"), unit=SECOND, log=True),
        y=Axis(label=translate("predicted"), unit=SECOND, log=True),
        groups=groups,
        band=NEAR,
    )


def _ids() -> Mapping[str, str]:
    return {source.title: source.id for source in sources()}


@cache
def _groups(spoken: str) -> tuple[DotGroup, ...]:
    """The dots of each source, which have the same color and mark on every page."""
    return tuple(
        DotGroup(color, mark, source.title, tuple(_dots(source)))
        for source, (color, mark) in zip(sources(), _STYLES, strict=False)
    )


def _dots(source: Source) -> Iterator[Dot]:
    for one in _of(source.id):
        found, run = one.prediction, one.run
        if found:
            says = translate(
                "{title}, {said}: measured {step_time}, predicted {predicted_text} ({error_text})",
                title=source.title,
                said=said(run),
                step_time=show(run.step_time, SECOND, 3),
                predicted_text=predicted_text(one),
                error_text=error_text(one),
            )
            yield Dot(run.step_time, found.middle, found.low, found.high, said(run), says)
