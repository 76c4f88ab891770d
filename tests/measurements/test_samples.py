"""The published samples: what their heads say is what is read, and damage raises nothing."""

import random
import re
import statistics
from pathlib import Path

import pytest

from app.core.measurements.file_reader import read_files
from app.core.measurements.pieces import median_error
from app.core.measurements.published import published_logs, published_tests, text_of
from app.core.measurements.reports import CollectiveTest, TrainingLog
from tests.each import each

TESTS = list(published_tests())
LOGS = list(published_logs())


def test_of(name: str) -> CollectiveTest:
    report = published_tests()[name].report
    assert isinstance(report, CollectiveTest)
    return report


test_of.__test__ = False  # type: ignore[attr-defined]


def test_there_are_29_tests_and_4_logs_each_with_its_source_and_license() -> None:
    assert (len(TESTS), len(LOGS)) == (29, 4)
    for one in (*published_tests().values(), *published_logs().values()):
        assert one.source.startswith("https://github.com/")
        assert one.license
        assert one.hardware


@each("name", TESTS)
def test_a_sample_is_read_as_its_head_says(name: str) -> None:
    text, test = text_of(name), test_of(name)
    head = dict(re.findall(r"^# (collective|ranks|nodes): (\w+)$", text, re.MULTILINE))
    assert test.collective == head["collective"]
    assert str(test.ranks or "unknown") == head["ranks"]
    printed = re.findall(r"\b([1-9]\d*) +\d+ +float", text)
    assert [int(row.size) for row in test.rows] == [int(size) for size in printed]


def test_ranks_are_found_without_the_line_that_says_them(tmp_path: Path) -> None:
    """The ratio of the bandwidths alone tells them, where both are printed with enough digits."""
    for name in TESTS:
        text = re.sub(r"^.*(?:# ranks:|Rank ).*\n", "", text_of(name), flags=re.MULTILINE)
        path = tmp_path / name
        path.write_text(text)
        (test,) = read_files([path])
        assert isinstance(test, CollectiveTest)
        if name != "gb200-1440":
            assert test.ranks == test_of(name).ranks, name


DOUBTS = {
    "gb200-128-two-racks": "said to be 144 ranks, but the bandwidths say 128",
    "gb300-azure-doc-edited": "the bus bandwidth is below the algorithm bandwidth",
    "h100-8-p5-one-row": "1 row: too few sizes to fit a line",
    "h200-128-p5en": "rows are missing",
}


@each("name", DOUBTS)
def test_what_does_not_add_up_is_said(name: str) -> None:
    assert any(DOUBTS[name] in doubt for doubt in test_of(name).doubts)


def test_a_sound_sample_has_no_doubts() -> None:
    sound = [name for name in TESTS if not test_of(name).doubts]
    assert len(sound) >= 20
    assert {"h100-16-p5", "h200-16-a3ultra-allgather", "mi300x-16-oci"} <= set(sound)


def test_at_most_three_lines_miss_by_three_percent_in_the_median() -> None:
    errors = []
    for name in TESTS:
        test = test_of(name)
        assert len(test.pieces) <= 3
        if len(test.rows) >= 10:
            points = [(row.size, row.time) for row in test.rows]
            errors.append(median_error(points, test.pieces))
    assert statistics.median(errors) <= 0.03


def test_three_lines_of_one_sample_are_those_of_the_study() -> None:
    """H100 x 16 over EFA: 71 us at first, then 91 GB/s, then 250 GB/s."""
    first, second, third = test_of("h100-16-p5").pieces
    assert first.alpha == pytest.approx(71e-6, rel=0.01)
    assert second.bandwidth == pytest.approx(91e9, rel=0.01)
    assert third.bandwidth == pytest.approx(250e9, rel=0.01)
    assert (first.first, third.last) == (8, 1 << 34)


def test_the_logs_say_what_was_printed() -> None:
    reports = {name: one.report for name, one in published_logs().items()}
    titan, mixtral = reports["torchtitan-8b-h100"], reports["megatron-mixtral-16-h100"]
    assert isinstance(titan, TrainingLog)
    assert isinstance(mixtral, TrainingLog)
    assert titan.tokens_per_second_per_gpu == 5863
    assert titan.step_time == pytest.approx(8192 / 5863, rel=1e-3)
    assert (mixtral.step_time, mixtral.flops_per_gpu) == (5.5338, 236e12)
    assert all(isinstance(one, TrainingLog) and not one.doubts for one in reports.values())


def damaged(text: str, how: int, dice: random.Random) -> str:
    lines = text.splitlines()
    match how:
        case 0:
            return text[: dice.randrange(len(text))]
        case 1:
            lines.insert(dice.randrange(len(lines)), dice.choice(lines))
        case 2:
            dice.shuffle(lines)
        case 3:
            letters = list(text)
            for _ in range(20):
                letter = dice.choice("\0 09.e\ufffd\t\n\u0664-")
                letters[dice.randrange(len(letters))] = letter
            return "".join(letters)
        case _:
            wrong = dice.choice(["9e99", "0", "-", "", "\u0664", "nan", "1e400", "9" * 400])
            return text.replace(dice.choice("0123456789"), wrong, dice.randrange(1, 50))
    return "\n".join(lines)


@pytest.mark.parametrize("name", TESTS + LOGS)
def test_damage_raises_nothing(name: str, tmp_path: Path) -> None:
    dice, path = random.Random(name), tmp_path / "damaged"
    text = text_of(name)
    for how in range(10):
        path.write_text(damaged(text, how % 5, dice))
        for report in read_files([path]):
            record = report.record()
            assert record.keys() >= {"error"} or record["kind"] in {"nccl-tests", "log"}
