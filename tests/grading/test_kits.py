"""Grading for other graders: a sheet in a fake Gradescope or PrairieLearn, and the client of a notebook."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.__main__ import main
from app.client import CheckError, check
from app.core.errors import InputError
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.site.grading.kits import (
    ANSWERS_LIMIT,
    GradedQuestion,
    QuestionSheet,
    graded_lines,
    gradescope,
    prairielearn,
    sheet_lines,
)
from tests.each import each

RING, SENT = "collectives/ring-all-reduce-time", "collectives/bytes-sent-by-a-ring"
SHEET = f"""\
questions:
  ring:
    exercise: {RING}
    seed: 7
    points: 3
  sent:
    exercise: {SENT}
"""


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "sheet.yaml"
    path.write_text(SHEET, encoding="utf-8")
    return path


def right(catalog: Catalog, exercise: str, seed: int) -> str:
    answer = catalog.exercise(exercise).right_answer(seed)
    assert isinstance(answer, str)
    return answer


def results(sheet: Path, sent: str | None, of: str) -> dict[str, Any]:
    answers, out = sheet.with_name("answers.json"), sheet.with_name("results.json")
    if sent is not None:
        answers.write_text(sent, encoding="utf-8")
    assert main(["grade", str(answers), "--sheet", str(sheet), "--format", of, "-o", str(out)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_a_folder_of_gradescope_gets_its_results(sheet: Path, catalog: Catalog) -> None:
    """As its `run_autograder` calls it: a program of its own, and files in its folders."""
    for name in ("source", "submission", "results"):
        (sheet.parent / name).mkdir()
    sheet.rename(sheet.parent / "source" / "sheet.yaml")
    answers = {"ring": right(catalog, RING, 7), "sent": "1 B"}
    (sheet.parent / "submission" / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    command = "grade submission/answers.json --sheet source/sheet.yaml --format gradescope -o results/results.json"
    run = [sys.executable, "-m", "app", *command.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(run, cwd=sheet.parent, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "3 of 4 points\n")
    found = json.loads((sheet.parent / "results" / "results.json").read_text(encoding="utf-8"))
    ring, sent = found["tests"]
    assert (ring["name"], ring["score"], ring["max_score"], ring["status"]) == ("ring", 3, 3, "passed")
    assert (sent["name"], sent["score"], sent["max_score"], sent["status"]) == ("sent", 0, 1, "failed")
    assert "too small" in sent["output"]


def test_prairielearn_gets_a_share_of_all_points(sheet: Path, catalog: Catalog) -> None:
    found = results(sheet, json.dumps({"ring": right(catalog, RING, 7)}), "prairielearn")
    assert (found["gradable"], found["score"]) == (True, 0.75)
    assert [(one["points"], one["max_points"]) for one in found["tests"]] == [(3, 3), (0, 1)]
    assert found["tests"][1]["output"] == "No answer was sent."


@each(
    ("sent", "says"),
    [
        (None, "cannot be read"),
        ("{", "is not JSON"),
        ("[1]", "must be an object"),
        ('{"rings": "70 ms"}', "did you mean"),
        ('{"other": "70 ms"}', "the questions are ring, sent"),
        ('{"ring": {"a": {}}}', "This cannot be graded"),
        ('{"ring": null}', "This cannot be graded"),
        ('{"ring": "nonsense"}', "nonsense"),
        ("{" * 100_000, "is not JSON"),
        (" " * (1 << 20) + "{}", "more than 1 MiB"),
    ],
)
def test_a_file_that_cannot_be_read_gets_results_that_say_why(sheet: Path, sent: str | None, says: str) -> None:
    found = results(sheet, sent, "gradescope")
    assert [one["score"] for one in found["tests"]] == [0, 0]
    assert says in found["tests"][0]["output"]


@each(
    ("text", "says"),
    [
        ("questions: {}\n", "questions"),
        (SHEET.replace(RING, RING[:-1]), "did you mean"),
        (SHEET.replace("points: 3", "points: 0"), "points"),
        (SHEET.replace("seed: 7", "sed: 7"), "sed"),
    ],
)
def test_a_wrong_sheet_is_refused(sheet: Path, text: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    sheet.write_text(text, encoding="utf-8")
    sheet.with_name("answers.json").write_text("{}", encoding="utf-8")
    assert main(["grade", str(sheet.with_name("answers.json")), "--sheet", str(sheet)]) != 0
    assert says in capsys.readouterr().err


def test_a_share_of_the_points_is_no_pass() -> None:
    graded = [GradedQuestion(name="a", points=1.5, of=3.0, says=""), GradedQuestion(name="b", points=2, of=2, says="")]
    tests = gradescope(graded)["tests"]
    assert isinstance(tests, list)
    half, whole = tests
    assert (half["status"], whole["status"]) == ("failed", "passed")
    assert prairielearn(graded)["score"] == pytest.approx(0.7)


def test_the_largest_file_of_a_student_is_read(sheet: Path, catalog: Catalog) -> None:
    asked = QuestionSheet.read(sheet, catalog)
    assert list(sheet_lines(asked, b" " * (ANSWERS_LIMIT - 2) + b"{}", "a.json")) == []
    with pytest.raises(InputError, match="more than 1 MiB"):
        list(sheet_lines(asked, b" " * (ANSWERS_LIMIT - 1) + b"{}", "a.json"))


def test_lines_without_a_sheet_are_worth_a_point_each(tmp_path: Path, catalog: Catalog) -> None:
    lines = [{"exercise": RING, "seed": 7, "answer": right(catalog, RING, 7), "ref": "first"}, {"exercise": SENT}]
    source, out = tmp_path / "answers.jsonl", tmp_path / "results.json"
    source.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert main(["grade", str(source), "--format", "gradescope", "-o", str(out)]) == 0
    first, second = json.loads(out.read_text(encoding="utf-8"))["tests"]
    assert (first["name"], first["score"], second["name"], second["score"]) == ("first", 1, "line 2", 0)


def test_a_line_is_worth_a_point_and_says_in_a_word_what_has_no_feedback() -> None:
    rows = [
        {"verdict": "correct", "score": 1.0, "feedback": [], "exercise": "e"},
        {"verdict": "incorrect", "score": 0.5, "feedback": [], "ref": "r", "exercise": "e"},
        {"verdict": "incorrect", "score": 0.0, "feedback": ["one", "two"]},
        {"error": "no *such* exercise", "ref": 7},
    ]
    graded = [
        (one.name, one.points, one.of, one.says) for one in graded_lines(json.dumps(row).encode() for row in rows)
    ]
    assert graded == [
        ("e", 1, 1, "Right."), ("r", 0.5, 1, "Not right."), ("line 3", 0, 1, "one\n\ntwo"),
        ("7", 0, 1, r"This cannot be graded: no \*such\* exercise."),
    ]  # fmt: skip


@contextmanager
def serving(client: TestClient, *early: int) -> Iterator[str]:
    """A server whose first replies have the codes *early*, and whose others are those of *client*."""
    codes = list(early)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if codes:
                self.send_response(codes.pop(0))
                self.send_header("Retry-After", "0")
                self.end_headers()
                return
            given = {name: self.headers[name] for name in ("Content-Type", "Authorization") if name in self.headers}
            reply = client.post(self.path, content=body, headers=given)
            self.send_response(reply.status_code)
            self.end_headers()
            self.wfile.write(reply.content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_a_client_waits_for_a_server_that_is_busy(client: TestClient, catalog: Catalog, token: str) -> None:
    with serving(client, 503, 429) as url:
        found = check(RING, right(catalog, RING, 7), seed=7, server=url, token=token)
        assert found
        assert found.score == 1
        wrong = check(RING, "1 us", seed=7, server=url, token=token)
        assert not wrong
        assert "too small" in wrong._repr_markdown_()


@each(("early", "says"), [([503] * 5, "503"), ([500], "500"), ([], "did you mean")])
def test_a_client_says_why_nothing_was_graded(client: TestClient, token: str, early: list[int], says: str) -> None:
    with serving(client, *early) as url, pytest.raises(CheckError, match=says):
        check(RING[:-1], "1 us", server=url, token=token)


def test_a_client_names_a_server_that_is_not_there() -> None:
    with pytest.raises(CheckError, match=r"127\.0\.0\.1:9 does not answer"):
        check(RING, "1 us", server="http://127.0.0.1:9")


def test_a_cell_of_a_notebook_checks_without_a_server(catalog: Catalog) -> None:
    """A notebook runs its cells inside an event loop."""
    cells = [
        "from app.client import check",
        f"found = check({RING!r}, {right(catalog, RING, 7)!r}, seed=7)",
        "assert found, found.feedback",
    ]
    notebook = {"cells": [{"cell_type": "code", "source": cell} for cell in cells], "nbformat": 4}
    space: dict[str, Any] = {}

    async def run() -> None:
        for cell in json.loads(json.dumps(notebook))["cells"]:
            exec(cell["source"], space)

    asyncio.run(run())
    assert space["found"].verdict == "correct"
