"""A file of answers graded by several processes, or in shards on several machines."""

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

from app.__main__ import main
from app.core.errors import InputError, UnavailableError
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.server.config import Settings
from app.site.grading import parallel
from app.site.grading.offline import CheckResult, Submission, VerdictTally, gradable_lines
from app.site.grading.parallel import FileShard, shard_lines, span_of
from tests.each import each
from tests.waiting import HANGS, wait_until

RING = "collectives/ring-all-reduce-time"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.read([ROOT / "exercises"])


def written(path: Path, count: int, blank: int = 0) -> Path:
    """Answers numbered by `ref`, every third one wrong; each *blank*-th line is empty."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, count + 1):
            answer = "1 day" if number % 3 else "nonsense"
            row = {"exercise": RING, "seed": 0, "answer": answer, "ref": number}
            file.write("\n" if blank and number % blank == 0 else f"{json.dumps(row)}\n")
    return path


def refs(path: Path) -> list[int]:
    return [json.loads(line)["ref"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("of", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("end", ["\n", "", "\n\n"])
def test_each_line_is_in_one_shard_and_has_its_own_number(tmp_path: Path, of: int, end: str) -> None:
    texts = [b"x" * (length * 7 % 23) for length in range(20)]
    file = tmp_path / "in"
    file.write_bytes(b"\n".join(texts) + end.encode())
    expected = list(enumerate(file.read_bytes().splitlines(), 1))
    with file.open("rb") as source:
        spans = [span_of(source, FileShard(number, of)) for number in range(1, of + 1)]
        assert [line for span in spans for line in shard_lines(source, span, 99)] == expected
    assert sum(span.lines for span in spans) == len(expected)


@each("text", ["0/2", "3/2", "2", "a/b", "-1/2", "1/0", "1/2/3", "²/3"])
def test_a_shard_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--shard|counted from 1"):
        FileShard.read(text)


@pytest.fixture
def parts(tmp_path: Path) -> list[str]:
    """The graded shards of a file, whose lines 10, 20 and so on are blank."""
    source = written(tmp_path / "in.jsonl", 95, blank=10)
    names = [str(tmp_path / f"part-{number}") for number in (1, 2, 3)]
    for number, name in enumerate(names, 1):
        assert main(["grade", str(source), "--shard", f"{number}/3", "-o", name]) == 0
    return names


def test_merged_shards_are_what_one_machine_writes(
    tmp_path: Path, parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    whole, merged = tmp_path / "whole", tmp_path / "merged"
    main(["grade", str(tmp_path / "in.jsonl"), "-o", str(whole)])
    said = capsys.readouterr().err.splitlines()[-1]
    assert main(["merge", *reversed(parts), "-o", str(merged)]) == 0
    assert capsys.readouterr().err.splitlines() == [said]
    assert merged.read_bytes() == whole.read_bytes()
    assert refs(merged) == [number for number in range(1, 96) if number % 10]


def test_a_merge_refuses_what_is_missing_double_changed_or_of_another_file(
    tmp_path: Path, parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(tmp_path / "other")
    main(["grade", str(written(tmp_path / "in2", 9)), "--shard", "2/3", "-o", other])
    cut, changed = tmp_path / "cut", tmp_path / "changed"
    rows = Path(parts[1]).read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(rows[:-1]))
    changed.write_bytes(b"".join(rows).replace(b"incorrect", b"correct", 1))
    for names, says in (
        (parts[:2], "the shard 3/3 is missing"),
        ([*parts, parts[0]], "are both the shard 1/3"),
        ([parts[0], other, parts[2]], "not shards of the same file"),
        ([parts[0], str(cut), parts[2]], "is not a complete shard"),
        ([parts[0], str(changed), parts[2]], "was changed after it was graded: grade 2/3 again"),
        ([parts[0], str(tmp_path / "none"), parts[2]], "cannot be read"),
    ):
        capsys.readouterr()
        assert main(["merge", *names, "-o", str(tmp_path / "out")]) == 1
        assert says in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


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
