"""What stands on the picture of a page: the same words and figures as on the page."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from app.charts.card import Card
from app.content.catalog import Topic
from app.content.daily import DailyQuestion
from app.content.errata import Erratum
from app.explorers import Explored, Explorer, Values, question, settings_text, untold
from app.formulas import Formula
from app.kinds import Exercise
from app.labs.results.report import Report
from app.labs.spec import Lab
from app.translation import translate
from app.web.frame.rendering import Preview
from app.web.labs.compared import RunGroup, figure_of
from app.web.labs.pictures import emblem_of
from app.web.labs.tables import figures_of
from app.web.labs.wording import KINDS, place_of
from app.web.reference.docstrings import equation_lines
from app.web.urls import picture_url

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"`|\*+(?=\S)|(?<=\S)\*+")


def preview_of(path: str, card: Card) -> Preview:
    """What is shown where *path* is shared: a picture with *card* on it."""
    return Preview(path=path, picture=picture_url(path), alt=card.alt)


def plain(text: str) -> str:
    """The first paragraph of a Markdown *text* as plain words, without sentences of mathematics.

    >>> plain("Each rank sends **twice**. It is $x$. See [why](/why).")
    'Each rank sends twice. See why.'
    """
    first = text.strip().partition("\n\n")[0]
    if first.startswith(("```", "|", "#")):
        return ""
    kept = (one for one in _SENTENCE.split(first) if "$" not in one)
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", " ".join(kept))).split())


def explorer_card(
    explorer: Explorer, chapter: str, values: Values, shown: Explored, *, hidden: bool
) -> Card:
    """An explorer in one state; while the answer is *hidden*, what stands beside the question."""
    figures = tuple(untold(explorer, shown)) if hidden else shown.figures
    told = _SENTENCE.split(plain(shown.says or translate(explorer.summary)))[0]
    settings = settings_text(explorer, values) or translate("explorer")
    return Card(
        kicker=f"{chapter} · {settings}",
        title=translate(explorer.title),
        says=plain(question(explorer, values)) if hidden else told,
        figure=next(iter(figures), None),
    )


def erratum_card(erratum: Erratum) -> Card:
    """A claim, struck out where it is wrong rather than a matter of convention."""
    return Card(
        kicker=f"Erratum {erratum.id}: your source says",
        key=f"“{erratum.said}”",
        wrong=erratum.severity != "C",
        title=erratum.title,
        says=plain(erratum.right),
    )


def formula_card(
    formula: Formula, given: Mapping[str, str] = MappingProxyType({}), result: str = ""
) -> Card:
    """A formula with its equations, and its *result* for what is *given*, if there is one."""
    arguments = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in given.items())
    return Card(
        kicker=f"Formula · {formula.module}",
        key=result,
        title=formula.name.partition(".")[2].replace("_", " ").capitalize(),
        code="\n".join(equation_lines(formula)),
        says=f"With {arguments}." if result and arguments else formula.says,
    )


def lab_card(lab: Lab) -> Card:
    """The question of a lab, which is all that one knows before the measurement."""
    return Card(
        kicker=f"Lab · {KINDS[lab.links]}",
        title=lab.title,
        says=plain(lab.question),
        emblem=emblem_of(lab.name),
    )


def run_card(lab: Lab, report: Report) -> Card:
    """A run of a lab: what it measured, beside the formula."""
    figure = next(figures_of(lab.run_over(report.backend), report), None)
    if figure is None:
        return lab_card(lab)
    return Card(
        kicker=f"Lab · {place_of(report)}, {report.backend}",
        title=lab.title,
        says=plain(lab.question),
        figure=figure,
    )


def board_card(lab: Lab, groups: Sequence[RunGroup]) -> Card:
    """A lab on the machines that have run it."""
    if not groups:
        return lab_card(lab)
    return Card(
        kicker="Lab · by machine",
        title=lab.title,
        says=plain(lab.question),
        figure=figure_of(lab, groups[0]),
    )


def exercise_card(exercise: Exercise, chapter: str, seed: int) -> Card:
    """The question of an exercise, which is all that one knows before answering."""
    return Card(
        kicker=f"{chapter} · {exercise.kind_title}",
        title=exercise.title,
        says=plain(exercise.variant(seed).prompt),
    )


def chapter_card(topic: Topic) -> Card:
    """A chapter in a sentence."""
    count = len(topic.exercises)
    return Card(
        kicker=f"{count} {'exercise' if count == 1 else 'exercises'}",
        title=topic.title,
        says=plain(topic.summary),
    )


def daily_card(question: DailyQuestion) -> Card:
    """The question of a day, which is all that one knows before guessing."""
    return Card(
        kicker=f"Guess the step · question {question.number}",
        title=question.title,
        says=plain(question.asks),
    )
