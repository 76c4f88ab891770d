"""One rule for what is held against a prediction: each ratio is that of two numbers beside it."""

import json
import re
from collections.abc import Iterator, Sequence
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.commands.lab_launch import results_table
from app.core.units import RATIO, Reading, read, scale_of
from app.course.content.catalog import Catalog
from app.course.kinds.choice import LabExercise
from app.labs.results.analysis import shipped_runs
from app.labs.results.report import Report
from app.labs.spec import lab_called

Rows = Sequence[Sequence[str]]
UNITS = ("s", "B", "")


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def tables(html: str) -> Iterator[Rows]:
    """The tables of a page, their cells as texts."""
    for table in re.findall(r"<table.*?</table>", html, re.S):
        rows = re.findall(r"<tr.*?</tr>", table, re.S)
        yield [[words(cell) for cell in re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row, re.S)] for row in rows]


def reading(text: str) -> Reading:
    """The number in *text*, and what its last figure is worth."""
    text = text.partition(",  ")[0]
    for unit in UNITS:
        try:
            return read(text, scale_of(unit).unit if unit else RATIO)
        except ValueError:
            continue
    raise AssertionError(f"{text!r} is no number")


def agree(ratio: str, above: str, below: str) -> bool:
    """Whether *ratio* can be that of the two numbers, each rounded as it is shown."""
    quotient, over, under = reading(ratio), reading(above), reading(below)
    low = (over.value - over.step / 2) / (under.value + under.step / 2)
    high = (over.value + over.step / 2) / max(under.value - under.step / 2, 1e-300)
    return low - quotient.step / 2 <= quotient.value <= high + quotient.step / 2


def ratios(rows: Rows) -> Iterator[tuple[str, str, str]]:
    """Each ratio of a table with the two numbers that its heading names."""
    header = [cell.casefold() for cell in rows[0]]
    for place, heading in enumerate(header):
        for row in rows[1:]:
            cell = row[place] if place < len(row) else ""
            if " / " in heading and cell:
                above, below = heading.split(" / ")
                names = {"yours": "your prediction"}
                yield cell, row[header.index(above)], row[header.index(names.get(below, below))]
            elif heading == "over formula" and cell:
                ratio, which = re.fullmatch(r"([\d.e+-]+) \((min|median)\)", cell).groups()  # type: ignore[union-attr]
                yield ratio, row[header.index(which)], row[header.index("formula")]


def first_number(text: str) -> str:
    """A measurement without the place that stands beside it, as in "3.2 ms, size 4 MiB"."""
    return text.split(", ")[0]


def test_a_wrong_ratio_would_be_seen() -> None:
    """The row that was wrong: 31.3 ms over 27.93 ms is 1.121, and 1.057 was shown."""
    assert agree("1.121", "31.3 ms", "27.93 ms")
    assert not agree("1.057", "31.3 ms", "27.93 ms")
    assert not agree("1.242", "55.76 ms", "27.93 ms")


@pytest.mark.parametrize("report", shipped_runs(), ids=lambda report: report.id)
def test_of_every_recorded_run(client: TestClient, report: Report) -> None:
    lab = lab_called(report.lab)
    expected = [one for one in report.measures if one.ratio is not None]
    page = client.get(f"/labs/{report.lab}/{report.id}").text
    on_page = [found for rows in tables(page) for found in ratios(rows)]
    in_terminal = list(ratios(results_table(lab, report)))
    assert len(on_page) == len(in_terminal) == len(expected)
    for ratio, above, below in (*on_page, *in_terminal):
        assert agree(ratio, above, below), (ratio, above, below)
    plain = client.get(f"/labs/{report.lab}/{report.id}/samples.json").json()
    for one in plain["measures"]:
        assert one["held"] in (one["least"], one["median"])
        if one["ratio"] is not None:
            assert one["ratio"] == one["held"] / one["predicted"]
            least = lab.measures[one["name"]].least
            assert one["held"] == (min(one["samples"]) if least else one["median"])


def test_of_every_lab_exercise_after_a_wrong_prediction(client: TestClient, catalog: Catalog) -> None:
    compared = 0
    for exercise in catalog.exercises:
        if not isinstance(exercise, LabExercise):
            continue
        right = exercise.right_answer(1)
        wrong = {
            f"answer.{name}": f"{1.37 * key.right / key.asked.scale.factor:.4g} {key.asked.unit}"
            for name, key in exercise.keys(1).items()
        }
        assert wrong.keys() == {f"answer.{name}" for name in right if name != "cause"}
        page = client.post(f"/exercises/{exercise.id}?seed=1", data={"action": "predict", **wrong}).text
        (rows,) = (t for t in tables(page) if t[0][0] == "Where")
        others = {row[0]: row for row in rows}
        for row in rows[3:]:
            for place, cell in enumerate(row[1:], 1):
                for ratio, word in re.findall(r"([\d.e+-]+) × (yours|the formula)", cell):
                    other = others["Your prediction" if word == "yours" else "The formula"][place]
                    value = re.match(r"[^✓✗a-zA-Z]*[µA-Za-z%/]*", other)
                    above = re.match(r"[\d.,e+-]+( [µA-Za-z%/]+)?(?= |$)", cell)
                    assert value
                    assert above
                    below = " ".join(value[0].split())
                    assert same_unit_agree(ratio, above[0], below), (exercise.id, cell, other)
                    compared += 1
    assert compared >= 30


def same_unit_agree(ratio: str, above: str, below: str) -> bool:
    try:
        return agree(ratio, above, below)
    except AssertionError:
        return agree(ratio, above.split()[0], below.split()[0])


def test_a_guess_is_held_against_the_same_number(client: TestClient) -> None:
    """Beside the learner's own prediction, too."""
    from app.server.db.lab_runs import SENT
    from app.site.web.labs.predictions import guess_beside_run
    from app.site.web.labs.results import RunResult
    from tests.db.queue import run as queued

    for report in shipped_runs():
        lab = lab_called(report.lab)
        row = queued(
            lab=lab.name,
            host=SENT,
            state="done",
            given=json.dumps(dict(report.given)),
            predicted=0.777 * report.measures[-1].median or 1.0,
        )
        compared = guess_beside_run(lab, RunResult(report, row))
        assert compared
        found = list(ratios([compared.header, compared.cells]))
        assert found or report.doubts  # nothing is concluded from a disturbed run
        for ratio, above, below in found:
            assert agree(ratio, above, below), (ratio, above, below)
