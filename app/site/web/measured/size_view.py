"""What the page shows of a test beside a run of the lab that did the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.errors import InputError
from app.core.measurements.reports import CollectiveTest
from app.core.translation import translate
from app.labs.results.report import Report
from app.labs.results.size_comparison import SIZE_COLUMNS, compare_sizes, difference_text, latest_of_test
from app.site.web.explore.figures import FigureView, figure_view
from app.site.web.frame.renderer import Hyperlink
from app.site.web.measured.figures import sizes_figure
from app.site.web.urls import run_url


@dataclass(frozen=True, slots=True, kw_only=True)
class SizesView:
    """A run of the lab beside the test, size by size."""

    run: Hyperlink
    says: str
    figure: FigureView
    rows: tuple[tuple[str, ...], ...]


def view_beside_run(test: CollectiveTest, runs: Sequence[Report]) -> SizesView | None:
    """*test* beside the first of *runs* that did the same on the same GPUs; None without one."""
    run = latest_of_test(test, runs)
    if run is None:
        return None
    try:
        pairs = compare_sizes(run, test)
    except InputError:  # they have no size in common
        return None
    return SizesView(
        run=Hyperlink(run_url(run.lab, run.id), run.id),
        says=difference_text(pairs),
        figure=figure_view(sizes_figure(pairs), "", 0),
        rows=(tuple(map(translate, SIZE_COLUMNS)), *(one.cells() for one in pairs)),
    )
