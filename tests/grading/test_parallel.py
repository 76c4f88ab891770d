"""A file of answers graded by several processes."""

import json
import os
import re
import signal
import subprocess
import sys
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from app.core.errors import UnavailableError
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.server.config import Settings
from app.site.grading import parallel
from app.site.grading.offline import CheckResult, Submission, VerdictTally, gradable_lines
from tests.waiting import HANGS, wait_until

RING = "collectives/ring-all-reduce-time"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.read([ROOT / "exercises"])


def written(path: Path, count: int) -> Path:
    """Answers numbered by `ref`, every third one wrong."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, count + 1):
            answer = "1 day" if number % 3 else "nonsense"
            row = {"exercise": RING, "seed": 0, "answer": answer, "ref": number}
            file.write(f"{json.dumps(row)}\n")
    return path


def refs(path: Path) -> list[int]:
    return [json.loads(line)["ref"] for line in path.read_text().splitlines()]


def children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(child) for child in found.split()]


def test_a_process_that_is_killed_costs_no_line(tmp_path: Path) -> None:
    source, output = written(tmp_path / "in.jsonl", 6_000), tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "app", "grade", str(source), "-o", str(output)]
    with subprocess.Popen([*command, "--processes", "2"], stderr=subprocess.PIPE) as grading:
        wait_until(lambda: len(children(grading.pid)) == 2)
        os.kill(children(grading.pid)[0], signal.SIGKILL)
        _, said = grading.communicate(timeout=5 * HANGS)
    assert grading.returncode == 0
    assert re.search(rb"0 correct, 4000 incorrect, 2000 unreadable, 0 lines", said), said
    assert refs(output) == list(range(1, 6_001))


def die(pipe: Connection, *_: object) -> None:
    pipe.recv()
    os._exit(9)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_lines_that_kill_every_process_are_named(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_work", die)
    monkeypatch.setattr(parallel, "_SPAWN", parallel._FORK)
    lines = [(number, b"{}\n") for number in range(1, 3_000)]
    with pytest.raises(UnavailableError, match="3 processes died while they graded lines"):
        list(parallel.grade_on(1 + 1, lines, catalog, Settings(), VerdictTally()))


def counted(verdict: str, expect: str | None = None, says: str | None = None, of: int = 1) -> VerdictTally:
    """The tally of *of* lines with a *verdict* whose feedback is “Half of it.”."""
    asked = Submission.model_validate({"exercise": RING, "answer": "1", "expect": expect, "says": says})
    values = {"exercise": RING, "seed": 0, "verdict": verdict, "score": 0, "feedback": ["Half of it."]}
    tally = VerdictTally()
    for number in range(1, of + 1):
        tally.count(number, CheckResult.model_validate(values), asked)
    return tally


def test_a_tally_tells_what_was_expected_and_where_it_was_not() -> None:
    verdicts = "{} correct, {} incorrect, {} unreadable, 0 lines with an error".format
    assert str(counted("correct")) == verdicts(1, 0, 0)
    assert str(counted("correct", "correct")) == f"{verdicts(1, 0, 0)}\n1 expected, 0 disagree"
    assert str(counted("unreadable", "incorrect")).endswith("1 expected, 1 disagree (lines 1)")
    for of, named in ((5, "1, 2, 3, 4, 5"), (6, "1, 2, 3, 4, 5, ...")):
        tally = counted("incorrect", "correct", of=of)
        assert str(tally) == f"{verdicts(0, of, 0)}\n{of} expected, {of} disagree (lines {named})"
    said, unsaid = (counted("incorrect", "incorrect", says) for says in ("Half", "Twice"))
    assert (said.unsaid, unsaid.unsaid) == (0, 1)
    assert counted("correct", "incorrect", "Twice").unsaid == 0, "that it disagrees is enough"
    clean, wrong = VerdictTally(correct=1, unsaid=1), (VerdictTally(errors=1), VerdictTally(disagreeing=1))
    assert [tally.is_clean for tally in (clean, *wrong)] == [True, False, False]


def test_tallies_of_parts_add_up_and_remember_the_first_thousand_lines() -> None:
    whole, part = counted("correct", "incorrect", of=1_200), counted("unreadable", "correct", of=3)
    assert (whole.disagreeing, len(whole.disagreements)) == (1_200, 1_000)
    whole.add(part)
    assert (whole.correct, whole.unreadable, whole.expected, whole.disagreeing) == (1_200, 3, 1_203, 1_203)
    assert whole.disagreements[:7] == [1, 1, 2, 2, 3, 3, 4]
    assert len(whole.disagreements) == 1_000


def test_an_export_is_graded_by_its_answers_and_a_line_with_a_list_is_none(catalog: Catalog) -> None:
    rows: list[object] = [
        {"exercise": RING, "seed": 3, "answer": "1 s", "correct": True, "score": 1},
        {"exercise": RING, "seed": -1, "answer": "1 s", "correct": "yes"},
        "no answer",
    ]

    def read(given: object, **form: int) -> list[dict[str, object]]:
        content = json.dumps(given, **form).encode()  # type: ignore[arg-type]
        return [json.loads(line or b"null") for line in gradable_lines(BytesIO(content), catalog, 9_999)]

    expected = [
        {"exercise": RING, "seed": 3, "answer": "1 s", "expect": "correct", "ref": 1},
        {"exercise": RING, "seed": -1, "answer": "1 s", "ref": 2},
        {"ref": 3},
    ]
    assert read({"format": "x", "attempts": rows}) == expected
    assert read({"attempts": rows}, indent=1) == expected
    line = {"exercise": RING, "answer": "1 s", "attempts": rows}
    assert read(line) == [line]


def test_few_lines_are_graded_in_this_process_in_order(catalog: Catalog) -> None:
    tally = VerdictTally()
    lines = [(number, b'{"exercise": "no/ne", "answer": "1", "ref": %d}' % number) for number in range(1, 5)]
    rows = [row for piece in parallel.grade_on(4, lines, catalog, Settings(), tally) for row in piece]
    assert [row.count(b'"ref": %d' % number) for number, row in enumerate(rows, 1)] == [1] * 4
    assert tally.errors == 4
    assert list(parallel.grade_on(1, [], catalog, Settings(), VerdictTally())) == [[]]
