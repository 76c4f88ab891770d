"""The figures under prompts: drawn with an exercise's numbers, and without its answer."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from app.authoring.proofs import figure_texts
from app.core.charts.axes import NARROW, PAPERS, WIDE, Drawing, text_width
from app.core.charts.motion import Motion
from app.core.charts.svg import to_svg
from app.core.charts.timeline import Timeline
from app.core.motions.rings import MOST_RANKS
from app.core.units import BYTE, read
from app.course.content.catalog import Catalog
from app.course.illustrations import ILLUSTRATIONS, illustrate, listed_inputs
from app.course.illustrations.base import counted_sketch, first_numbers
from app.course.kinds import Exercise
from app.course.kinds.base import CountedPart, CountedParts, ExerciseFigure
from app.course.kinds.drawn_values import NOTHING_DRAWN
from app.course.kinds.numeric import Numeric
from app.site.web.exercise.view import illustration_view, played_frame
from tests.each import each

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


def drawn(draws: str, given: dict[str, str | float]) -> Drawing:
    made = illustrate(ExerciseFigure(draws=draws, **{"with": given}), NOTHING_DRAWN)
    assert isinstance(made, Drawing)
    return made


@each(
    ("draws", "given", "boxes", "narrow", "arrows"),
    [
        ("bits", {"exponent": 8, "fraction": 7}, {"id": 1 + 1, "f": 8 + 1, "bs": 7 + 1}, 19, 0),  # and the legend
        ("bits", {"exponent": 1}, {"id": 2, "f": 2, "bs": 1}, 5, 0),
        ("bins", {"experts": 8, "factor": 1.25, "popular": 2}, {"f": 8, "rs": 1}, 9, 2),
        ("bins", {"experts": 17, "factor": 2, "popular": 2}, {"f": 16}, 8, 2),
        ("isoflop", {}, {"w": 1}, 1, 26),
        ("isoflop", {"times": 2}, {"w": 2}, 2, 26),
        ("cables", {"flows": 16, "links": 17}, {"e-": 2}, 2, 16 + 15),
        ("ring", {"ranks": 12}, {"i-": 12}, 12, 12),
        ("ring", {"ranks": 13}, {"i-": 8}, 8, 9),
        ("ring", {"ranks": 2}, {"i-": 2}, 2, 2),
        ("tree", {"ranks": 15}, {"i-": 15}, 15, 14),
        ("tree", {"ranks": 16}, {"i-": 15}, 15, 14),
        ("tree", {"ranks": 2}, {"i-": 2}, 2, 1),
        ("root", {"ranks": 12}, {"i-": 12}, 7, 22),
        ("root", {"ranks": 13}, {"i-": 11}, 7, 20),
        ("answers", {"lengths": "100, 400, 300"}, {"f": 3}, 3, 0),
        ("groups", {"group": 8}, {"f": 8 + 5 + 1 + 0 + 1, "rs": 0 + 3 + 7 + 8 + 1}, 34, 0),
        ("groups", {"group": 2}, {"f": 2 + 1 + 1 + 0 + 1, "rs": 0 + 1 + 1 + 2 + 1}, 10, 0),
        ("copies", {"trainers": 24, "ranks": 4}, {"bs": 24, "f": 8}, 32, 0),
        ("copies", {"trainers": 25, "ranks": 4}, {"bs": 23, "f": 8}, 31, 0),
        ("replica", {"memory": "80 GB", "weights": "16 GB"}, {"f": 2, "i-": 1}, 3, 0),
        ("replica", {"memory": "80 GB", "weights": "16 GB", "free": "8 GB"}, {"f": 2, "i-": 1, "e": 2}, 5, 0),
        ("request", {}, {"f": 2, "c": 10}, 8, 0),
        ("queue", {}, {"as": 5, "f": 1}, 4, 2),
        ("state", {}, {"i-": 3, "f": 1, "bs": 1, "w": 1}, 6, 0),
        ("state", {"ranks": 8, "stage": 3, "gradients": "0 B"}, {"i-": 2, "f": 1, "w": 1}, 4, 0),
        ("memory", {"memory": "80 GB", "activations": "30 GB"}, {"as": 1, "i-": 1}, 2, 0),
        ("memory", {"memory": "80 GB", "state": "80 GB"}, {"f": 1}, 1, 0),
        ("batch", {"batch": 6, "context": 4096}, {"f": 1, "as": 6}, 7, 0),
        ("batch", {"batch": 7, "context": 4096}, {"f": 1, "as": 5}, 6, 0),
        ("mesh", {"tensor": 4, "pipeline": 2, "data": 3}, {"f": 8, "e": 16}, 24, 0),
        ("mesh", {"tensor": 2, "context": 2, "data": 2}, {"f": 4, "e": 4}, 8, 0),
        ("nodes", {"nodes": 2}, {"i-": 2, "f": 16}, 18, 3),
        ("nodes", {"nodes": 1, "gpus": 16}, {"i-": 1, "f": 7}, 8, 0),
        ("nodes", {"nodes": 6, "ranks": 4}, {"i-": 4, "f": 16}, 10, 5),
        ("matrix", {"rows": 8, "columns": 16, "ranks": 4}, {"i-": 1 + 3, "f": 1}, 5, 0),
        ("matrix", {"rows": 8, "columns": 16, "ranks": 65, "split": "rows"}, {"i-": 1 + 63, "f": 1}, 65, 0),
        ("scores", {"heads": 1, "sequence": 128}, {"as": 1}, 1, 0),
        ("scores", {"heads": 2, "sequence": 128, "batch": 2}, {"e": 3, "as": 1}, 4, 0),
        ("scores", {"heads": 8, "sequence": 128}, {"e": 4, "as": 1}, 5, 0),
        ("accumulation", {"count": 4}, {"f": 4 + 4 + 1, "c": 4 + 1 + 1}, 15, 0),
        ("waiting", {"share": 0.25}, {"f": 1 + 1, "c": 1 + 1}, 4, 0),
        ("saves", {}, {"f": 4, "w": 3, "rs": 2, "id": 2}, 11, 1),
        ("layers", {"layers": 12, "stages": 4}, {"f": 12, "i-": 4}, 16, 0),
        ("layers", {"layers": 201, "stages": 17}, {"f": 200, "i-": 15}, 205, 0),
    ],
)
def test_a_figure_has_a_box_for_each_thing_or_leaves_some_out(
    draws: str, given: dict[str, str | float], boxes: dict[str, int], narrow: int, arrows: int
) -> None:
    made = drawn(draws, given)
    wide = made.on(WIDE)
    assert Counter(f"{one.color.value}{'-' * one.outlined}" for one in wide.rects) == boxes
    assert (len(made.on(NARROW).rects), len(wide.arrows)) == (narrow, arrows)


@each(
    ("draws", "given", "says"),
    [
        ("bits", {"exponent": 8, "fraction": 7}, "1 sign, 8 exponent, 7 fraction"),
        ("bins", {"experts": 8, "factor": 1.25, "popular": 1.25}, "all experts fit"),
        ("bins", {"experts": 8, "factor": 1.25, "popular": 1.3}, "the popular expert is above its capacity"),
        ("bins", {"experts": 17, "factor": 2, "popular": 2}, "16 of 17 experts"),
        ("bins", {"experts": 16, "factor": 2, "popular": 2}, "16 experts"),
        ("isoflop", {"times": 0.5}, "0.5 times as large"),
        ("rent", {"gpus": 1}, "1 GPU until the money is spent"),
        ("ring", {"ranks": 2, "size": "64 KiB"}, "64 KiB on each"),
        ("ring", {"ranks": 2, "size": "64 kB"}, "64 kB on each"),
        ("ring", {"ranks": 2, "bandwidth": "50 GB/s", "latency": "5 us"}, "50 GB/s per link"),
        ("tree", {"ranks": 15}, "15 ranks in a binary tree"),
        ("tree", {"ranks": 16}, "16 ranks in a binary tree, the upper levels"),
        ("root", {"ranks": 3, "size": "1 MiB"}, "1 MiB each way, per rank"),
        ("replica", {"memory": "80 GB", "weights": "16 GB", "free": "8 GB"}, "kept free"),
        ("replica", {"memory": "80 GB", "weights": "16 GB"}, "80 GB: weights 16 GB, room for caches"),
        ("replica", {"memory": "80 GB", "weights": "16 GB"}, "80 GB of memory"),
        ("copies", {"trainers": 24, "ranks": 4}, "copies that generate, 4 GPUs each"),
        ("copies", {"trainers": 24, "ranks": 4}, "24 GPUs train, each with its part of the weights"),
        ("cables", {"flows": 16, "links": 17}, "16 flows and 17 cables"),
        ("layers", {"layers": 12, "stages": 4}, "12 layers for 4 stages"),
        ("batch", {"batch": 6, "context": 4096}, "read for each sequence: a cache of 4,096 tokens"),
        ("groups", {"group": 8}, "8 answers each"),
        (
            "saves",
            {"checkpoint": "30 s", "interval": "1 h"},
            "work since the last checkpoint is lost, a checkpoint takes 30 s, one is saved every 60 min",
        ),
        ("request", {"batch": 64}, "a step: a token for each of 64 requests"),
        ("state", {"ranks": 8}, "It could be shared by 8."),
        ("state", {"ranks": 8, "stage": 1}, "gradients: 2 B per parameter, on every GPU"),
        ("state", {"ranks": 8, "stage": 2}, "gradients: 2 B per parameter, sharded"),
        ("state", {"ranks": 8, "stage": 2}, "weights: 2 B per parameter, on every GPU"),
        ("state", {"ranks": 8, "stage": 1}, "optimizer: 12 B per parameter, sharded"),
        ("memory", {"memory": "80 GB", "activations": "30 GB"}, "80 GB: activations 30 GB, room for model state"),
        ("memory", {"memory": "80 GB", "state": "30 GB"}, "80 GB: model state 30 GB, room for activations"),
        ("memory", {"memory": "80 GB", "state": "80 GB"}, "80 GB: model state 80 GB"),
        ("mesh", {"tensor": 8}, "tensor 8, data-parallel replicas: as many as the GPUs allow"),
        ("mesh", {"tensor": 4, "pipeline": 2, "data": 3}, "tensor 4, pipeline 2, data-parallel replicas: 3 times"),
        ("nodes", {"nodes": 1, "gpus": 16}, "a node of 16 GPUs"),
        ("nodes", {"nodes": 6, "group": "pods", "ranks": 4, "across": "50 GB/s"}, "50 GB/s between pods"),
        ("nodes", {"nodes": 6, "group": "pods", "ranks": 4}, "6 pods of 4 ranks"),
        ("matrix", {"rows": 8, "columns": 16, "ranks": 4, "split": "rows"}, "A matrix, split by rows"),
        ("scores", {"heads": 2, "sequence": 128, "batch": 2}, "2 heads, 2 sequences"),
        ("accumulation", {"count": 4, "reduce": "1 s"}, "4 micro-batches, 1 s for an all-reduce"),
    ],
)
def test_a_figure_says_what_is_given(draws: str, given: dict[str, str | float], says: str) -> None:
    made = drawn(draws, given)
    assert says in {made.title, made.summary, *(one.text for one in made.on(WIDE).words)}


@each(
    ("draws", "given", "says"),
    [
        ("replica", {"memory": "80 GB", "weights": "72 GB", "free": "8 GB"}, "must be less than 80 GB"),
        ("memory", {"memory": "80 GB"}, "must be from 0 B to 80 GB"),
        ("memory", {"memory": "80 GB", "state": "81 GB"}, "must be from 0 B to 80 GB"),
        ("waiting", {"share": 0}, "share must be between 0 and 1, not 0"),
        ("waiting", {"share": 1}, "share must be between 0 and 1, not 1"),
        ("groups", {"group": 1}, "group must be at least 2"),
        ("bins", {"experts": 1, "factor": 1, "popular": 1}, "experts must be at least 2"),
        ("pipeline", {"stages": 65, "microbatches": 8}, "a pipeline of 65 stages is too large"),
        ("pipeline", {"stages": 4, "microbatches": 1025}, "a pipeline of 1,025 microbatches is too large"),
        ("overlap", {"layers": 129, "compute": "1 s", "reduce": "1 s"}, "at most 128"),
        ("rings", {}, "no figure is called 'rings'; did you mean 'ring'"),
        ("ring", {"rank": 2}, "not 'rank'; did you mean 'ranks'"),
        ("ring", {}, "ring also needs ranks"),
        ("ring", {"ranks": 2, "size": "1 s"}, "size must be in B, not 1 s"),
        ("ring", {"ranks": 2, "size": "x"}, "size: "),
    ],
)
def test_a_figure_of_what_cannot_be_says_so(draws: str, given: dict[str, str | float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        illustrate(ExerciseFigure(draws=draws, **{"with": given}), NOTHING_DRAWN)


def lanes(draws: str, given: dict[str, str | float]) -> tuple[str, list[list[tuple[str, str]]]]:
    """The title of a timeline, and the kind and the label of each bar of each lane."""
    made = illustrate(ExerciseFigure(draws=draws, **{"with": given}), NOTHING_DRAWN)
    assert isinstance(made, Timeline)
    return made.title, [[(bar.kind, bar.label) for bar in lane.bars] for lane in made.rows]


def test_a_pipeline_is_drawn_from_its_first_pass_and_cut_if_it_is_long() -> None:
    title, ((*first,), (*last,)) = lanes("pipeline", {"stages": 2, "microbatches": 3})
    assert title == "1F1B"
    assert first == [("F", "0"), ("F", "1"), ("B", "0"), ("F", "2"), ("B", "1"), ("B", "2")]
    assert last == [("F", "0"), ("B", "0"), ("F", "1"), ("B", "1"), ("F", "2"), ("B", "2")]
    title, ((*naive,), _) = lanes("pipeline", {"stages": 2, "microbatches": 2, "schedule": "gpipe"})
    assert (title, [kind for kind, _ in naive]) == ("GPipe", ["F", "F", "B", "B"])
    assert lanes("pipeline", {"stages": 64, "microbatches": 1024})[0] == "1F1B, the beginning of a step"
    assert lanes("pipeline", {"stages": 4, "microbatches": 20})[0] == "1F1B"
    assert lanes("pipeline", {"stages": 4, "microbatches": 21})[0] == "1F1B, the beginning of a step"


def test_layers_are_reduced_from_the_last_one() -> None:
    title, (work, talk) = lanes("overlap", {"layers": 3, "compute": "1 s", "reduce": "2 s"})
    assert title == "3 layers, the last one first"
    assert work == [("B", "3"), ("B", "2"), ("B", "1")]
    assert talk == [("C", "3"), ("C", "2"), ("C", "1")]


def test_first_numbers_leave_out_what_is_before_the_last() -> None:
    assert first_numbers(5, 5) == [0, 1, 2, 3, 4]
    assert first_numbers(6, 5) == [0, 1, 2, None, 5]


def test_inputs_are_listed_with_their_units_and_in_parentheses_if_they_may_be_left_out() -> None:
    assert listed_inputs(ILLUSTRATIONS["ring"]) == "ranks, (size in B), (bandwidth in B/s), (latency in s)"
    assert listed_inputs(ILLUSTRATIONS["matrix"]) == "rows, columns, ranks, (split: columns or rows)"
    assert listed_inputs(ILLUSTRATIONS["answers"]) == "lengths, separated by commas"


def test_what_is_drawn_to_scale_has_its_shape_and_its_numbers() -> None:
    first, second, product = drawn("product", {"rows": 4, "inner": 8, "columns": 16}).on(WIDE).rects
    assert [one.says for one in (first, second, product)] == ["4 × 8", "8 × 16", "4 × 16"]
    assert first.width == pytest.approx(2 * first.height, rel=0.01)
    assert product.width == pytest.approx(4 * product.height, rel=0.01)
    answers = drawn("answers", {"lengths": "100, 400, 300"}).on(WIDE).rects
    assert [round(one.width / answers[0].width, 2) for one in answers] == [1, 4, 3]
    memory = drawn("memory", {"memory": "80 GB", "activations": "20 GB"}).on(WIDE).rects
    assert memory[1].width == pytest.approx(3 * memory[0].width, rel=0.02)
    waits = drawn("waiting", {"share": 0.2}).on(WIDE).rects
    assert waits[0].width == pytest.approx(4 * waits[1].width, rel=0.02)
    whole, own, *_ = drawn("state", {"ranks": 8, "stage": 3}).on(WIDE).rects
    assert whole.width == pytest.approx(8 * own.width, rel=0.01)
    first_copy = drawn("mesh", {"tensor": 2, "data": 2}).on(WIDE).rects
    assert [one.color.value for one in first_copy] == ["f", "f", "e", "e"]
    split = drawn("matrix", {"rows": 8, "columns": 16, "ranks": 4, "split": "rows"}).on(WIDE).rects
    assert split[1].width == split[0].width
    assert split[1].height == pytest.approx(split[0].height / 4, abs=0.02)


def test_bins_are_filled_to_the_capacity_and_the_popular_one_spills() -> None:
    rects = drawn("bins", {"experts": 8, "factor": 1.25, "popular": 2}).on(WIDE).rects
    filled = [one.height for one in rects if one.color.value == "f"]
    (over,) = [one for one in rects if one.color.value == "rs"]
    assert filled[1] / filled[0] == pytest.approx(1.25 / (6 / 7), rel=0.01)
    assert over.height / filled[1] == pytest.approx(0.75 / 1.25, rel=0.01)
    assert filled.index(max(filled)) == 1


def test_the_tree_has_each_rank_under_its_parent() -> None:
    made = drawn("tree", {"ranks": 7}).on(WIDE)
    rows = Counter(rect.y for rect in made.rects)
    assert list(rows.values()) == [1, 2, 4]
    middles = [rect.x + rect.width / 2 for rect in made.rects]
    for parent, left, right in ((0, 1, 2), (1, 3, 4), (2, 5, 6)):
        assert middles[parent] == pytest.approx((middles[left] + middles[right]) / 2, abs=0.1)


def test_a_wrong_answer_is_as_long_as_what_it_counts() -> None:
    parts = (CountedPart("a", 1.0, counted=True), CountedPart("b", 3.0, counted=False))
    shown = counted_sketch(CountedParts(parts, "1 GB", "4 GB"), finished=True)
    own, first, rest = shown.on(WIDE).rects
    assert own.width == pytest.approx(first.width, abs=2)
    assert rest.width == pytest.approx(3 * first.width, rel=0.03)
    assert [one.outlined for one in (own, first, rest)] == [False, False, True]
    assert (shown.title, shown.summary) == ("Your answer beside the right one", "left out: b")
    checked = counted_sketch(CountedParts(parts, "1 GB", "4 GB"), finished=False)
    assert checked.title == "What your answer counts"
    assert [one.text for one in checked.on(WIDE).words] == ["a: counted", "b: left out"]


def test_a_ring_that_moves_has_at_most_the_ranks_that_have_a_color() -> None:
    for ranks in (2, MOST_RANKS):
        assert illustrate(ExerciseFigure(draws="moving-ring", **{"with": {"ranks": ranks}}), NOTHING_DRAWN)
    with pytest.raises(ValueError, match=f"ranks must be at most {MOST_RANKS}, not {MOST_RANKS + 1}"):
        illustrate(ExerciseFigure(draws="moving-ring", **{"with": {"ranks": MOST_RANKS + 1}}), NOTHING_DRAWN)
    plain, sized = (
        illustrate(ExerciseFigure(draws="moving-ring", **{"with": given}), NOTHING_DRAWN)
        for given in ({"ranks": 4}, {"ranks": 4, "size": "1 GB"})
    )
    assert isinstance(plain, Motion)
    assert isinstance(sized, Motion)
    assert len(sized.frames) == len(plain.frames) + 1, "a frame is there for what is too much"


def test_a_larger_model_is_on_the_right_of_the_optimum() -> None:
    for times, larger in ((2, True), (0.5, False)):
        best, other = drawn("isoflop", {"times": times}).on(WIDE).rects
        assert (other.x > best.x) is larger
        assert other.y < best.y, "its loss is higher"
