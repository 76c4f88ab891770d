"""What `wallclock lab selftest` says of processes that print something, nothing, or too late."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.commands import lab
from tests.each import each

COPY = {"part": "forced", "name": "copy", "fault": ""}
REPORT: Mapping[str, Any] = {"checks": {"same": True}, "state": "done", "cause": "", "doubts": []}
Said = tuple[int, str, str]  # a process's exit code, what it printed, what went wrong
Faults = dict[str, str]


def faults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forced: Said, ran: Said) -> tuple[int, Faults]:
    """The exit code and the fault of each part, where processes say *forced* and, of the lab, *ran*."""

    def said(words: Sequence[str]) -> Said:
        return ran if "run" in words else forced

    monkeypatch.setattr(lab, "_said", said)
    file = tmp_path / "found.json"
    code = main(["lab", "selftest", "--labs", "zero", "-o", str(file)])
    found = json.loads(file.read_text())
    assert found["faults"] == [f"{one['part']} {one['name']}: {one['fault']}" for one in found["parts"] if one["fault"]]
    return code, {one["name"]: one["fault"] for one in found["parts"]}


GOOD, RAN = (0, json.dumps(COPY) + "\n", ""), (0, json.dumps(REPORT), "")


def reported(code: int = 0, **parts: object) -> Said:
    return code, json.dumps({**REPORT, **parts}), "a line of its log"


@each(
    ("forced", "ran", "says"),
    [
        (GOOD, RAN, {"copy": "", "zero": ""}),
        ((3, GOOD[1], ""), RAN, {"copy": "", "process": "it ended with exit code 3", "zero": ""}),
        ((3, GOOD[1], "Killed"), RAN, {"copy": "", "process": "Killed", "zero": ""}),
        ((0, "nothing of use\n", ""), RAN, {"process": "it ended with exit code 0", "zero": ""}),
        ((0, f"a warning\n{GOOD[1]}", ""), RAN, {"copy": "", "zero": ""}),
        (GOOD, (2, "no JSON", ""), {"copy": "", "zero": "no JSON, and exit code 2"}),
        (GOOD, (2, "no JSON", "no lab is called zero"), {"copy": "", "zero": "no lab is called zero"}),
        (GOOD, reported(state="failed", cause="rank 1 ended"), {"copy": "", "zero": "rank 1 ended"}),
        (GOOD, reported(checks={"same": True, "sum": False}, cause="sum"), {"copy": "", "zero": "sum"}),
        (GOOD, reported(1), {"copy": "", "zero": "exit code 1"}),
        (GOOD, reported(doubts=["slow"]), {"copy": "", "zero": ""}),
    ],
)
def test_a_part_fails_by_its_own_words_or_by_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forced: Said, ran: Said, says: Faults
) -> None:
    assert faults(monkeypatch, tmp_path, forced, ran) == (int(any(says.values())), says)


def test_a_part_that_is_only_disturbed_passes_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults(monkeypatch, tmp_path, GOOD, reported(doubts=["slow"]))
    copy, zero, end = capsys.readouterr().out.splitlines()
    assert (copy, zero) == ("passed  forced copy", "passed  lab zero  (disturbed)")
    assert end.startswith("2 parts, 0 with a fault: ")


def test_of_a_process_that_fails_the_last_line_of_its_log_is_told_and_of_another_none() -> None:
    log = "import sys; print('out'); sys.stderr.write('first\\nlast\\n \\n'); sys.exit({})"
    assert lab._said(["-c", log.format(4)]) == (4, "out\n", "last")
    assert lab._said(["-c", log.format(0)]) == (0, "out\n", "")
    assert lab._said(["-c", "raise SystemExit(5)"]) == (5, "", "")


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "_LIMIT", 0.5)
    assert lab._said(["-c", "import time; time.sleep(60)"]) == (-1, "", "it took more than 0.5 s")
