"""The desk of an exported course says what the server says, without any package."""

import asyncio
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from itertools import groupby, islice
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.config import ROOT
from app.content.catalog import Catalog
from app.exporting.archive import archive, program
from app.exporting.python import LEFT_OUT
from app.kinds import Exercise
from app.sandbox.runner import Runner
from tests.exporting.chromium import Wish
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
    room = importlib.import_module(f"app.{name}")
    for found in pkgutil.walk_packages(room.__path__, f"app.{name}."):
        importlib.import_module(found.name)
tops = {name.partition(".")[0] for name in sys.modules}
print(sorted(tops - sys.stdlib_module_names - {"app", "__main__"}))
"""


def alone(*command: str, given: str = "") -> str:
    """What Python prints that sees no package."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", *command], input=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_core_of_formulas_imports_no_package() -> None:
    assert alone("-c", CORE, str(ROOT)).strip() == "[]"


def two_of_each_kind(catalog: Catalog) -> list[Exercise]:
    ordered = sorted(catalog.exercises, key=lambda exercise: exercise.kind)
    kinds = groupby(ordered, key=lambda exercise: exercise.kind)
    return [exercise for _, found in kinds for exercise in islice(found, 2)]


@pytest.fixture(scope="module")
def folder(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archives of a course with two exercises of each kind."""
    chosen = two_of_each_kind(catalog)
    ids = {one.id for one in chosen}
    topics = tuple(topic for topic in catalog.topics if ids & {e.id for e in topic.exercises})
    small = Catalog(topics, {one.id: one for one in chosen})
    made = tmp_path_factory.mktemp("desk")
    pages = [f"/exercises/{name}" for name in ids]
    for name, content in (("course", archive(small, pages)), ("program", program())):
        zipfile.ZipFile(io.BytesIO(content)).extractall(made / name)
    return made


def answered(folder: Path, wishes: Sequence[Wish]) -> list[tuple[int, str]]:
    """What the desk answers to *wishes*, with no package but those of the archive."""
    script = str(Path(__file__).with_name("desk_here.py"))
    said = json.loads(alone(script, str(folder), *MISSING, given=json.dumps(wishes)))
    return [(status, text) for status, text in said]


def test_a_browser_gives_the_verdicts_of_the_server(
    folder: Path, catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    asked = [
        case
        for exercise in two_of_each_kind(catalog)
        for seed in (0, 9)
        for case in cases(exercise, seed, most=2)
    ]
    wishes = [list(wishes_of(case)) for case in asked]
    texts = iter(answered(folder, [wish for some in wishes for wish in some]))
    for case, some in zip(asked, wishes, strict=True):
        *_, (status, text) = islice(texts, len(some))
        exercise, seed, answer = case
        assert status == 200
        verdict = loop.run_until_complete(exercise.grade(seed, answer, runner))
        assert list(differences(verdict, text)) == [], f"{exercise.id} {seed} {answer}"


def test_a_new_drawing_reads_as_on_the_server(
    folder: Path, catalog: Catalog, client: TestClient
) -> None:
    chosen = two_of_each_kind(catalog)
    addresses = [f"/exercises/{exercise.id}?seed=777" for exercise in chosen]
    for address, (status, text) in zip(
        addresses, answered(folder, [("GET", address, []) for address in addresses]), strict=True
    ):
        here, there = PROMPT.search(text), PROMPT.search(client.get(address).text)
        assert status == 200
        assert here
        assert there
        assert ADDRESS.sub("", here[0]) == ADDRESS.sub("", there[0]), address


def test_a_server_reads_the_progress_of_a_browser(folder: Path, client: TestClient) -> None:
    asked = [
        ("POST", "/exercises/collectives/bytes-sent-by-a-ring", [("answer", "1 GB")]),
        ("POST", "/exercises/collectives/bytes-sent-by-a-ring", [("action", "hint")]),
        ("GET", "/progress/export", []),
    ]
    *_, (status, text) = answered(folder, asked)
    assert status == 200
    sent = {"file": ("wallclock.json", text, "application/json")}
    moved = client.post("/progress/import", files=sent, follow_redirects=False)
    assert moved.headers["location"] == "/progress?added=2&known=0&left=0#notice"
