"""The figures under prompts: drawn with an exercise's numbers, and without its answer."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from fastapi.testclient import TestClient

from app.authoring.proofs import figure_texts
from app.core.charts.axes import PAPERS, text_width
from app.core.charts.svg import to_svg
from app.core.units import BYTE, read
from app.course.content.catalog import Catalog
from app.course.illustrations import ILLUSTRATIONS, illustrate
from app.course.kinds import Exercise
from app.course.kinds.base import ExerciseFigure
from app.course.kinds.numeric import Numeric
from app.site.web.exercise.view import illustration_view

SEEDS = (0, 3, 7, 1001)
TELLING = 3  # digits that are not there by chance
NUMBER = re.compile(r"\d[\d.,]*")
SIZE = re.compile(r"\d[\d.,]* ([kKMGT]i?B)(?![/\w])")
ROUNDED = 5e-4  # to four figures
HEAVIEST = 60_000  # characters of a figure on both papers


def pictured(catalog: Catalog) -> Iterator[tuple[Exercise, ExerciseFigure]]:
    """Every exercise that has a figure, and the figure."""
    for exercise in catalog.by_id.values():
        if exercise.figure:
            yield exercise, exercise.figure


def test_every_figure_is_used_and_a_third_of_the_course_has_one(catalog: Catalog) -> None:
    used = [figure.draws for _, figure in pictured(catalog)]
    assert set(used) == set(ILLUSTRATIONS)
    exhibited = sum(bool(exercise.exhibits) for exercise in catalog.by_id.values())
    played = sum(exercise.is_played for exercise in catalog.by_id.values())
    # The others show a real file; plans are drawn without being asked for.
    assert len(used) + played >= (len(catalog.by_id) - exhibited) / 3


def test_the_digits_of_an_answer_are_not_in_the_texts_of_its_figure(catalog: Catalog) -> None:
    for exercise, figure in pictured(catalog):
        if not isinstance(exercise, Numeric):
            continue
        for seed in SEEDS:
            given = set(NUMBER.findall(exercise.variant(seed).prompt))
            texts = figure_texts(illustrate(figure, exercise.draw(seed)))
            shown = {number for text in texts for number in NUMBER.findall(text)} - given
            for key in exercise.keys(seed).values():
                digits = key.asked.shown(key.right).split()[0]
                assert len(digits) < TELLING or digits not in shown, (exercise.id, seed)


def test_a_size_in_a_figure_has_the_unit_of_the_prompt(catalog: Catalog) -> None:
    for exercise, figure in pictured(catalog):
        for seed in SEEDS:
            prompt = sizes_in(exercise.variant(seed).prompt)
            for text in figure_texts(illustrate(figure, exercise.draw(seed))):
                for size, unit in sizes_in(text) - prompt:
                    alike = {other for value, other in prompt if abs(value / size - 1) < ROUNDED}
                    assert not alike, f"{exercise.id}: {text} in {unit}, not in {alike}"


def sizes_in(text: str) -> set[tuple[float, str]]:
    """Each size in *text*, in bytes, and its unit."""
    found = [(read(one[0], BYTE).value, one[1]) for one in SIZE.finditer(text)]
    return {(value, unit) for value, unit in found if value}


def test_a_figure_is_light_and_its_texts_are_inside_its_edges(catalog: Catalog) -> None:
    for exercise, figure in pictured(catalog):
        made = illustrate(figure, exercise.draw(3))
        drawn = [to_svg(made, alone=False, paper=paper) for paper in PAPERS.values()]
        assert sum(map(len, drawn)) < HEAVIEST, exercise.id
        for paper, svg in zip(PAPERS.values(), drawn, strict=True):
            for text in ET.fromstring(svg).iter("text"):
                wide = text_width(text.text or "")
                side = {"mid": wide / 2, "on": wide / 2, "end": wide}
                names = (text.get("class") or "").split()
                left = float(text.get("x", "0")) - sum(side.get(name, 0.0) for name in names)
                assert left >= -1, (exercise.id, text.text)
                assert left + wide <= paper.width + 1, (exercise.id, text.text)


def test_a_page_shows_the_figure_of_its_own_variant(client: TestClient) -> None:
    page = client.get("/exercises/collectives/bytes-sent-by-a-ring?seed=1").text
    ranks = re.search(r"(\d+) ranks", page)
    assert ranks
    assert f"<figcaption>{ranks[1]} ranks in a ring</figcaption>" in page
    assert "figures.js" not in page


def test_an_author_meets_the_problem_where_the_figure_would_be(catalog: Catalog) -> None:
    exercise = catalog.exercise("collectives/bytes-sent-by-a-ring")
    broken = exercise.model_copy(
        update={"figure": ExerciseFigure(draws="tree", **{"with": {"ranks": 0}}), "digest": "another"}
    )
    view = illustration_view(broken, 0)
    assert view
    assert view.problem == "Ranks must be at least 2, not 0."
