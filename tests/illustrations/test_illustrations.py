"""The figures under prompts: drawn with an exercise's numbers, and without its answer."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from app.authoring.proofs import figure_texts
from app.core.charts.axes import PAPERS, text_width
from app.core.charts.motion import Motion
from app.core.charts.svg import to_svg
from app.core.units import BYTE, read
from app.course.content.catalog import Catalog
from app.course.illustrations import ILLUSTRATIONS, illustrate
from app.course.kinds import Exercise
from app.course.kinds.base import ExerciseFigure
from app.course.kinds.drawn_values import NOTHING_DRAWN
from app.course.kinds.numeric import Numeric
from app.site.web.exercise.view import illustration_view, played_frame

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
    shown = {one.draws for topic in catalog.topics for one in topic.figures if isinstance(one, ExerciseFigure)}
    assert set(used) | shown == set(ILLUSTRATIONS)
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


def played(catalog: Catalog) -> list[tuple[Numeric, ExerciseFigure]]:
    return [(one, figure) for one, figure in pictured(catalog) if figure.plays and isinstance(one, Numeric)]


def test_the_first_exercise_of_each_part_plays_what_is_typed(catalog: Catalog) -> None:
    firsts = [next(topic for topic in catalog.topics if topic.part == part).path[0] for part in catalog.outline.parts]
    found = {one.id: figure for one, figure in played(catalog)}
    assert [one.id for one in firsts if one.id not in found] == []
    assert [one.id for one in firsts if not one.insight] == []


def frames_of(figure: ExerciseFigure, exercise: Numeric, seed: int) -> int:
    motion = illustrate(figure, exercise.draw(seed))
    assert isinstance(motion, Motion)
    return len(motion.frames)


def test_a_right_answer_plays_a_figure_to_a_frame_that_no_wrong_one_reaches(catalog: Catalog) -> None:
    for exercise, figure in played(catalog):
        for seed in SEEDS:
            goal = exercise.reached(seed, exercise.right_answer(seed))
            wrong = {exercise.reached(seed, answer) for answer, _ in exercise.mistakes(seed)}
            assert goal is not None
            assert 0 < goal < frames_of(figure, exercise, seed) - 1, "a frame is there for what is too much"
            assert any(one is not None and one < goal for one in wrong)
            for name, key in exercise.keys(seed).items():
                if not re.search(rf"\b{name}\b", figure.plays):
                    continue
                for times, steps in ((0, {0}), (0.97, {*range(goal)}), (1.03, {goal + 1}), (1e9, {10**6})):
                    typed = key.asked.typed(key.right * times)
                    reached = exercise.reached(seed, {name: typed} if exercise.answers else typed)
                    assert reached in steps, (exercise.id, seed, typed)
                for edge in (key.low, key.high):
                    typed = key.asked.typed(key.right + 0.9 * (edge - key.right))
                    assert exercise.reached(seed, {name: typed} if exercise.answers else typed) == goal


def test_nothing_is_played_for_a_box_that_is_empty(catalog: Catalog) -> None:
    exercise = catalog.exercise("tensor/column-split")
    assert exercise.reached(0, {"height": "8192"}) is None
    assert exercise.reached(0, {"height": "8192", "width": "1024"}) == 8


def test_a_figure_ends_with_its_last_frame_whatever_number_was_typed() -> None:
    motion = illustrate(ExerciseFigure(draws="moving-ring"), NOTHING_DRAWN)
    assert isinstance(motion, Motion)
    assert [played_frame(motion, one) for one in (None, 0, 6, 14, 15, 10**6)] == [0, 0, 6, 14, 14, 14]


@pytest.mark.parametrize("batch", [256, 33 * 256])
def test_a_large_batch_is_a_few_small_ones(batch: int) -> None:
    figure = ExerciseFigure(draws="small-and-large-step", **{"with": {"base": 256, "batch": batch}})
    with pytest.raises(ValueError, match="2 to 32 times"):
        illustrate(figure, NOTHING_DRAWN)


@pytest.mark.parametrize(
    ("draws", "given", "says"),
    [
        ("nodes", {"nodes": 0}, "nodes must be at least 1, not 0"),
        ("nodes", {"nodes": 2.5}, "nodes must be a whole number, not 2.5"),
        ("nodes", {"nodes": 2, "ranks": -1}, "ranks must be at least 0, not -1"),
        ("answers", {"lengths": "100, 0"}, "lengths must be at least 1, not 0"),
        ("bits", {"exponent": 8, "fraction": -1}, "fraction must be at least 0, not -1"),
    ],
)
def test_a_figure_counts_whole_things(draws: str, given: dict[str, str | float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        illustrate(ExerciseFigure(draws=draws, **{"with": given}), NOTHING_DRAWN)


@pytest.mark.parametrize(("draws", "given"), [("nodes", {"nodes": 1, "ranks": 0}), ("bits", {"exponent": 8})])
def test_a_figure_of_the_fewest_things_is_drawn(draws: str, given: dict[str, str | float]) -> None:
    assert illustrate(ExerciseFigure(draws=draws, **{"with": given}), NOTHING_DRAWN).title
