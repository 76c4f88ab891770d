import asyncio

import pytest

from app.catalog import Catalog
from app.kinds import Exercise
from app.lint import SEEDS, prove
from app.sandbox.runner import Runner

CURRICULUM = {
    *(f"ring-{n:02}" for n in range(1, 7)), *(f"ring-x{n}" for n in (1, 2, 3, 4, 5, 6, 7, 9)),
    *(f"zero-{n:02}" for n in range(1, 7)), *(f"zero-x{n}" for n in range(1, 12)),
    *(f"ga-{n:02}" for n in range(1, 6)), *(f"ga-x{n}" for n in (1, 3, 4)),
    *(f"lr-{n:02}" for n in range(1, 6)), *(f"lr-x{n}" for n in range(1, 6)),
    *(f"ovl-{n:02}" for n in range(1, 6)), *(f"ovl-x{n}" for n in (1, 2, 3)),
}  # fmt: skip

# What the curriculum says, recomputed there: label, answer to variant 0, and typical wrong ones.
KEYS = {
    "ring-01": ("1.75 GB", ("2 GB", "0.875 GB", "14 GB")),
    "ring-02": ("70 ms", ("80 ms", "35 ms", "140 ms", "560 ms")),
    "ring-x1": ("70.07 ms", ("70.035 ms",)),
    "ring-x2": ("14 GB", ("7 GB", "16 GB")),
    "ring-x3": ("2.0 MB", ("0.25 MB",)),
    "ring-x5": ("163.8 ms", ("0.07 ms",)),
    "ring-x6": ("1.62 TB", ("0.81 TB",)),
    "ring-x9": ("2.54 ms", ("327.7 ms",)),
    "zero-01": ("112 GB", ("84 GB", "98 GB", "104.3 GB")),
    "zero-02": ("29.3125 GB", ("28 GB", "28.875 GB", "1.75 GB")),
    "zero-03": ("15.53125 GB", ("29.3 GB", "15.09 GB", "14.0 GB")),
    "zero-04": ("1.75 GB", ("1.3125 GB", "14 GB", "15.5 GB")),
    "zero-x2": ("1.3125 GB", ("1.75 GB",)),
    "zero-x3": ("50 GB", ("37.5 GB",)),
    "zero-x5": ("6.33 GB", ("4.75 GB",)),
    "zero-x6": ("1624.7 GB", ("815.5 GB",)),
    "zero-x7": ("108", ("81",)),
    "zero-x9": ("9", ("2",)),
    "ring-04": ("depends", ("ring", "tree", "equal")),
    "ring-06": ("6", ("2", "3", "4")),
    "ring-x7": ("weights", ("linear",)),
    "zero-06": ("stage3-8", ("stage2-16", "stage1-64")),
    "zero-x8": ("barely", ("label",)),
    "zero-x11": ("stage3", ("stage2",)),
    "ovl-01": ("65.6 ms", ("32.8 ms", "131.3 ms")),
    "ovl-x1": ("1.67", ("1.4", "2.5")),
    "ovl-x3": ("14", ("15", "2")),
    "lr-01": ("2.4e-3", ("8.49e-4", "3.75e-5", "3e-4")),
    "lr-02": ("8.485e-4", ("2.4e-3", "1.06e-4", "6e-4")),
    "lr-04": ("saves-below", ("both-half", "generalizes")),
    "lr-05": ("half", ("same", "quarter", "longer")),
    "lr-x1": ("3.79e6", ()),
    "lr-x2": ("1.154e6", ()),
    "lr-x3": ("0.6667 %", ()),
    "lr-x4": ("slower", ("diverges",)),
    "lr-x5": ("16777216", ("2048", "131072")),
    "ga-01": ("64", ("512", "256", "63")),
    "ga-02": ("3.15 s", ("3.2 s", "50 ms")),
    "ga-05": ("b-third", ("b-half", "same", "b-double")),
    "ga-x1": ("if-equal", ("always", "never")),
    "ga-x3": ("28 GB", ("14 GB", "112 GB")),
    "ga-x4": ("64", ("1", "512")),
}
PARTS = {
    "ring-03": {"bus": "38.89", "share": "77.8 %"},
    "zero-05": {"stage3": "41.34", "dp": "27.56", "extra": "13.78", "ratio": "1.5", "time": "413.4"},
    "zero-x1": {"total": "7168", "redundant": "7056", "share": "98.4 %"},
    "lr-03": {"warmup": "8000", "share": "8 %"},
    "ovl-02": {"hidden": "97.5 %", "exposed": "1.5 ms", "added": "0.75 %"},
    "ovl-03": {"across": "350 ms", "within": "58.3 ms", "rails": "87.5 ms"},
    "ovl-04": {"compute": "242.4 ms", "left": "20.5 %"},
    "ovl-x2": {"gather": "33.7 ms", "forward": "28.3 ms", "exposed": "5.3 ms", "enough": "9736"},
    "ga-03": {"step": "7730", "rate": "264.94", "share": "0.647 %", "without": "29.4 %"},
    "zero-x4": {"dp": "1600", "stage3": "25", "share": "31.25 %"},
}  # fmt: skip
UNLISTED = ("is too large", "is too small", "right as it stands")


def labelled(catalog: Catalog, label: str) -> Exercise:
    return next(exercise for exercise in catalog.exercises if exercise.label == label)


def test_every_exercise_of_the_chapters_is_there(catalog: Catalog) -> None:
    assert {exercise.label for exercise in catalog.exercises} == CURRICULUM


def test_every_exercise_proves_itself(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    async def all_of_them() -> list[str]:
        found = []
        for exercise in catalog.exercises:
            found += [f"{exercise.id}: {f.says}" for f in await prove(exercise, runner)]
        return found

    assert len(SEEDS) == 20
    assert loop.run_until_complete(all_of_them()) == []


@pytest.mark.parametrize("label", KEYS)
def test_the_curriculum_s_answer_is_right_and_its_mistakes_are_told(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop, label: str
) -> None:
    exercise = labelled(catalog, label)
    right, wrong = KEYS[label]
    assert loop.run_until_complete(exercise.grade(0, right, runner)).correct
    for answer in wrong:
        verdict = loop.run_until_complete(exercise.grade(0, answer, runner))
        assert not verdict.correct
        assert not any(words in verdict.feedback[0] for words in UNLISTED), verdict.feedback


@pytest.mark.parametrize("label", PARTS)
def test_the_curriculum_s_answers_in_parts_are_right(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop, label: str
) -> None:
    exercise = labelled(catalog, label)
    verdict = loop.run_until_complete(exercise.grade(0, PARTS[label], runner))
    assert verdict.correct, verdict.feedback


def test_most_exercises_draw_several_variants(catalog: Catalog) -> None:
    for exercise in catalog.exercises:
        if exercise.kind == "numeric":
            drawn = {tuple(exercise.draw(seed).shown.items()) for seed in SEEDS}
            assert len(drawn) >= 3, exercise.id


def test_a_variant_is_the_same_for_ever(catalog: Catalog) -> None:
    # Written down once; a change here would break every shared link and every grader's file.
    exercise = labelled(catalog, "ring-02")
    drawn = [tuple(exercise.draw(seed).shown.values()) for seed in (0, 7, 2**31 - 1)]
    assert drawn == [
        ("8", "2 GB", "50 GB/s"),
        ("4", "2 GB", "200 Gbit/s"),
        ("4", "8 GB", "50 GB/s"),
    ]
