"""The published tests as a list, on /measured and on the boards of labs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup

from app.core.charts.axes import Axis
from app.core.charts.color import Color
from app.core.charts.plot import Plot, Series
from app.core.measurements.comparison import compare_test
from app.core.measurements.published import PublishedMeasurement, published_tests
from app.core.measurements.reports import CollectiveTest
from app.core.translation import language, translate
from app.core.units import BYTE_PER_SECOND, show
from app.site.web.explore.figures import BOTH, drawn_on
from app.site.web.frame.renderer import Hyperlink
from app.site.web.measured.figures import FAMILIES, SIZE, bandwidth_points, family
from app.site.web.measured.views import ADDRESS, NAMES

_COLORS = (Color.BLUE, Color.ORANGE, Color.GREEN, Color.PURPLE, Color.GRAY)
_FEWEST = 5  # sizes of a curve

Found = Sequence[tuple[PublishedMeasurement, CollectiveTest]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTestRow:
    """A published test in the list of its collective."""

    name: Hyperlink
    source: Hyperlink
    hardware: str
    ranks: str
    reached: str
    share: str
    doubtful: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedGroup:
    """The published tests of a collective, and a figure of the best one on each GPU."""

    title: str
    figure_title: str
    figure: Markup
    rows: tuple[PublishedTestRow, ...]


@cache
def published_hardware() -> tuple[str, ...]:
    """The GPUs of the published tests, the newest first."""
    found = {family(one.hardware) for one in published_tests().values()}
    return tuple(name for name in FAMILIES if name in found)


def published_groups(hardware: str = "") -> tuple[PublishedGroup, ...]:
    """The published tests by collective, or those on *hardware*; the fastest come first."""
    return _listed(language(), hardware if hardware in published_hardware() else "")


@cache
def _listed(spoken: str, hardware: str) -> tuple[PublishedGroup, ...]:
    return tuple(_groups(hardware))


def _groups(hardware: str) -> Iterator[PublishedGroup]:
    for collective, title in NAMES.items():
        found = [
            (one, one.report)
            for one in published_tests().values()
            if isinstance(one.report, CollectiveTest)
            and one.report.collective == collective
            and hardware in {"", family(one.hardware)}
        ]
        found.sort(key=lambda pair: -_best(pair[1]))
        if found:
            figure = _figure(title, found, hardware)
            yield PublishedGroup(
                title=title,
                figure_title=figure.title,
                figure=drawn_on(BOTH, figure),
                rows=tuple(_test_list_row(one, test) for one, test in found),
            )


def _figure(title: str, found: Found, hardware: str) -> Plot:
    """The bus bandwidth by size, of the fastest on each GPU; on one GPU, of the fastest."""
    fastest: dict[str, Series] = {}
    for one, test in found:
        gpu = one.name if hardware else family(one.hardware)
        if gpu in fastest or len(test.rows) < _FEWEST or len(fastest) == len(_COLORS):
            continue
        color = _COLORS[len(fastest)]
        fastest[gpu] = Series(color, one.name, bandwidth_points(test))
    return Plot(
        title=translate("{title}: the fastest on {hardware}", title=title, hardware=hardware)
        if hardware
        else translate("{title}: the fastest on each GPU", title=title),
        summary=translate("Bus bandwidth over the size of the array"),
        x=SIZE,
        y=Axis(translate("bus bandwidth"), BYTE_PER_SECOND, log=True),
        series=tuple(fastest.values()),
    )


def _best(test: CollectiveTest) -> float:
    return max((row.busbw for row in test.rows), default=0.0)


def _test_list_row(one: PublishedMeasurement, test: CollectiveTest) -> PublishedTestRow:
    comparison = compare_test(test)
    return PublishedTestRow(
        name=Hyperlink(f"{ADDRESS}/{one.name}", one.name),
        source=Hyperlink(one.address, "/".join(one.address.split("/")[2:5])),
        hardware=one.hardware,
        ranks=f"{test.ranks:,}" if test.ranks else translate("unknown"),
        reached=show(_best(test), BYTE_PER_SECOND, 3),
        share=f"{100 * comparison.share:.0f} %" if comparison else "",
        doubtful=bool(test.doubts),
    )
