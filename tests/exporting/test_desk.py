"""The desk of an exported course says what the server says, with the packages that go with it."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.core.folders import ROOT
from app.course.kinds import Exercise
from app.course.sandbox.runner import Runner
from app.exporting.python import LEFT_OUT
from tests.exporting.chromium import Wish
from tests.exporting.conftest import NUMBER, OWN, RUN
from tests.exporting.verdicts import cases, differences, wishes_of

pytestmark = pytest.mark.slow(10)

MISSING = sorted(name.removesuffix(".py") for name in LEFT_OUT)
PROMPT = re.compile(r'<div class="prompt" id="prompt">.*?</div>', re.DOTALL)
ADDRESS = re.compile(r' href="[^"]*"')
CORE = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import app
for name in ("formulas", "simulators", "expressions", "units"):
    room = importlib.import_module(f"app.core.{name}")
    for found in pkgutil.walk_packages(room.__path__, f"app.core.{name}."):
        importlib.import_module(found.name)
tops = {name.partition(".")[0] for name in sys.modules}
print(sorted(tops - sys.stdlib_module_names - {"app", "__main__"}))
"""


def alone(*command: str, given: str = "") -> str:
    """What Python prints that sees no package."""
    done = subprocess.run([sys.executable, "-I", "-S", *command], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_core_of_formulas_imports_no_package() -> None:
    assert alone("-c", CORE, str(ROOT)).strip() == "[]"


def answered(desk: Path, wishes: Sequence[Wish]) -> list[tuple[int, str]]:
    """What the desk answers to *wishes*, with no package but those of the archive."""
    script = str(Path(__file__).with_name("desk_here.py"))
    said = json.loads(alone(script, str(desk), *MISSING, given=json.dumps(wishes)))
    return [(status, text) for status, text in said]


def test_a_browser_gives_the_verdicts_of_the_server(
    desk: Path, chosen: list[Exercise], runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    asked = [case for exercise in chosen for seed in (0, 9) for case in cases(exercise, seed, most=2)]
    wishes = [list(wishes_of(case)) for case in asked]
    texts = iter(answered(desk, [wish for some in wishes for wish in some]))
    for case, some in zip(asked, wishes, strict=True):
        *_, (status, text) = islice(texts, len(some))
        exercise, seed, answer = case
        assert status == 200
        verdict = loop.run_until_complete(exercise.grade(seed, answer, runner))
        assert list(differences(verdict, text)) == [], f"{exercise.id} {seed} {answer}"


def test_a_new_drawing_reads_as_on_the_server(desk: Path, chosen: list[Exercise], client: TestClient) -> None:
    drawings = [f"/exercises/{exercise.id}?seed=777" for exercise in chosen]
    packs = "/formulas/mine.sent_time?size=6 GB&bandwidth=2 GB/s"
    *texts, formula = answered(desk, [("GET", address, []) for address in (*drawings, packs)])
    for address, (status, text) in zip(drawings, texts, strict=True):
        here, there = PROMPT.search(text), PROMPT.search(client.get(address).text)
        assert status == 200
        assert here
        assert there
        assert ADDRESS.sub("", here[0]) == ADDRESS.sub("", there[0]), address
    assert formula[0] == 200
    assert "3 s" in formula[1]


def test_a_server_reads_the_progress_of_a_browser(desk: Path, client: TestClient) -> None:
    asked = [
        ("POST", f"/exercises/{NUMBER}", [("answer", "1 s")]),
        ("POST", f"/exercises/{NUMBER}", [("action", "hint")]),
        ("POST", "/progress/known", [("chapter", "memory"), ("chapter", "nothing")]),
        ("GET", "/progress", []),
        ("GET", "/progress/export", []),
    ]
    *_, (_, progress), (status, text) = answered(desk, asked)
    assert status == 200
    assert progress.count(" checked>") == 1
    sent = {"file": ("wallclock.json", text, "application/json")}
    moved = client.post("/progress/import", files=sent, follow_redirects=False)
    assert moved.headers["location"] == "/progress?added=3&known=0&left=0#notice"
    back = client.get("/progress/export").text
    taken: Any = ("POST", "/progress/import", [("file", {"file": back})])
    (status, _), (_, progress) = answered(desk, [taken, ("GET", "/progress", [])])
    assert status == 303
    assert progress.count(" checked>") == 1


def test_a_browser_sets_the_numbers_of_a_chapter(desk: Path) -> None:
    own = "gpu=A100+SXM+80GB&gpus=64&network=200+Gbit%2Fs&budget=350000"
    seed = 2**30 + 1 + 5 * (64 // 8 - 1) + 5 * 2048 * 2 + 5 * 2048 * 5 * 25  # by hand
    found = answered(
        desk,
        [
            ("GET", f"/chapters/your-cluster?{own}", []),
            ("GET", f"/chapters/your-cluster?seed={seed}", []),
            ("GET", f"/exercises/{OWN}?seed={seed}", []),
            ("GET", "/chapters/your-cluster?gpus=1001", []),
        ],
    )
    assert [status for status, _ in found] == [303, 200, 200, 422]
    assert 'name="gpus" value="64"' in found[1][1]
    assert 'name="budget" value="350000"' in found[1][1]
    assert "64 A100 SXM 80GB" in found[2][1]
    assert "the nearest is 1,000" in found[3][1]


def test_a_route_is_kept_and_leads(desk: Path) -> None:
    found = answered(
        desk,
        [
            ("GET", "/", []),
            ("GET", "/route?route=serve", []),
            ("GET", "/", []),
            ("GET", "/route", []),
            ("GET", "/", []),
        ],
    )
    assert [status for status, _ in found] == [200, 303, 200, 303, 200]
    assert ["Route: <b>I serve</b>" in text for _, text in found] == [False, False, True, False, False]
    assert "/some/where/route?route=serve" in found[0][1]


def test_a_search_for_a_better_layout_needs_a_server(desk: Path, client: TestClient) -> None:
    address = "/explore/fit?gpus=64&model=Llama-3.1-8B"
    ((status, text),) = answered(desk, [("GET", address, [])])
    assert status == 200
    assert "The fastest layouts" in client.get(address).text
    assert "The fastest layouts" not in text
    assert "Searching for the best layout needs a server" in text
    assert "data\N{NO-BREAK SPACE}64, ZeRO\N{NO-BREAK SPACE}3" in text


def test_a_prediction_is_compared_with_the_recorded_run(desk: Path, client: TestClient) -> None:
    wishes: list[Wish] = [("GET", f"{RUN}?guess={guess}", []) for guess in ("100+MB", "many")]
    (status, text), (unread, problem) = answered(desk, wishes)
    assert (status, unread) == (200, 200)
    assert "cannot read" in problem
    theirs = client.get(f"{RUN}?guess=100+MB").text
    (verdict,) = re.findall(r'<p class="lead">([^<]*)</p>\s*<div class="scroll', theirs)
    assert verdict in text
    assert "Your prediction" in text


def test_progress_shows_a_wrong_answer_of_several_parts(desk: Path, chosen: list[Exercise]) -> None:
    exercise = next(one for one in chosen if one.kind == "match")
    wishes = [wish for case in cases(exercise, 0, most=2) for wish in wishes_of(case)]
    *_, (status, text) = answered(desk, [*wishes, ("GET", "/progress", [])])
    assert status == 200
    assert exercise.title in text


def test_a_course_in_german_answers_in_german(german_desk: Path) -> None:
    """Also what is drawn in the browser, and what is wrong with a text."""
    post = ("POST", f"/exercises/{NUMBER}")
    wishes: list[Wish] = [
        (*post, [("answer", "3 Tage"), ("seed", "0")]),
        (*post, [("answer", "3 gb"), ("seed", "0")]),
        ("GET", f"/exercises/{NUMBER}?seed=5", []),
    ]
    wrong, unread, page = (text for _, text in answered(german_desk, wishes))
    assert "259 200 000 ms ist zu groß." in wrong  # codespell:ignore
    assert "»gb« ist hier keine Einheit" in unread  # codespell:ignore
    assert ">Prüfen<" in page
