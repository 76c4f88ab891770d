"""The words and figures on the pictures of labs, of their runs and of their boards."""

from collections.abc import Sequence

from app.core.charts.card import PictureCard
from app.labs.results.report import Report
from app.labs.spec import Lab
from app.site.web.frame.preview import plain_words
from app.site.web.labs.labels import KINDS, machine_of
from app.site.web.labs.pictures import emblem_of
from app.site.web.labs.run_comparison import RunGroup, figure_of
from app.site.web.labs.tables import lab_figures


def lab_card(lab: Lab) -> PictureCard:
    """The question of a lab, which is all that one knows before the measurement."""
    return PictureCard(
        kicker=f"Lab · {KINDS[lab.links]}", title=lab.title, says=plain_words(lab.question), emblem=emblem_of(lab.name)
    )


def run_card(lab: Lab, report: Report) -> PictureCard:
    """A run of a lab: what it measured, beside the formula."""
    figure = next(lab_figures(lab.run_over(report.backend), report), None)
    if figure is None:
        return lab_card(lab)
    return PictureCard(
        kicker=f"Lab · {machine_of(report)}, {report.backend}",
        title=lab.title,
        says=plain_words(lab.question),
        figure=figure,
    )


def board_card(lab: Lab, groups: Sequence[RunGroup]) -> PictureCard:
    """A lab on the machines that have run it."""
    if not groups:
        return lab_card(lab)
    return PictureCard(
        kicker="Lab · by machine", title=lab.title, says=plain_words(lab.question), figure=figure_of(lab, groups[0])
    )
