"""The attacks that play the guest's own protocol, sent as a grader and as a visitor would."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from app.core.folders import ROOT
from app.core.yaml_file import read_document
from app.course.sandbox.runner import Runner
from app.main import create_app
from app.server.config import Settings
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from tests.calling import Caller, json_body
from tests.sandbox.siege import EXPECTED, HONEST, INPUTS, ON_SCHEDULES, WALL, attacks, sources, watched
from tests.waiting import HANGS

pytestmark = pytest.mark.slow(20)

SCHEDULE = ROOT / "exercises" / "puzzles" / "hide-the-sums.yaml"
EXERCISE = f"""
kind: function
title: A table
prompt: Write `solve(x)`, which looks a number up.
level: 1
result: int
arguments:
  x: {list(INPUTS)}
starter: |
  def solve(x):
      ...
right: |
  {HONEST.replace(chr(10), chr(10) + "  ")}
examples:
  - call: [{INPUTS[0]}]
    returns: {EXPECTED[0]}
wrong:
  - code: |
      def solve(x):
          return 1
    says: A table has more than one number.
hints: [Look it up., Ask the table.]
solution: It is a table.
sources: [https://example.org/table]
"""


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Any, Runner, str]]:
    chapter = folder / "exercises" / "attacks"
    chapter.mkdir(parents=True)
    (chapter / "topic.yaml").write_text("title: Attacks\nposition: 99\nsummary: For tests.\nopening: Words.\n")
    (chapter / "solve.yaml").write_text(EXERCISE)
    shutil.copy(SCHEDULE, chapter / "program.yaml")
    settings = Settings(
        database=f"sqlite:///{folder / 'w.db'}", exercises=(folder / "exercises",), sandbox_workers=4, sandbox_wall=WALL
    )
    app = create_app(settings)
    with open_session(app.state.site.engine) as session:
        token = create_token(session, "audit")
    async with app.router.lifespan_context(app):
        assert (await app.state.site.runner.ready()).state == "ready"
        yield app, app.state.site.runner, token


async def broken_by(
    source: str, exercise: str, honest: str, app: Any, runner: Runner, token: str
) -> AsyncIterator[str]:
    """Each rule that the hostile program *source* breaks."""
    row = {"exercise": f"attacks/{exercise}", "seed": 5, "answer": source}
    page = f"/exercises/attacks/{exercise}?seed=5"
    fields = {"answer": source, "action": "run"}
    callers = [
        Caller(app, "/api/v1/check", json_body(row), token),
        Caller(app, page, urlencode(fields, errors="surrogatepass").encode()),
    ]
    for caller in callers:
        async with watched(runner) as watch, asyncio.timeout(HANGS):
            answer = await caller.answer()
        if caller.status >= 500 or b'"correct"' in answer:
            yield f"got {caller.status}: {answer[-200:]!r}"
        for says in watch.broken():
            yield says
    after = Caller(app, "/api/v1/check", json_body({**row, "answer": honest}), token)
    if b'"verdict":"correct"' not in await after.answer():
        yield f"the next honest program got {after.sent[-1]!r}"


def besieged(folder: Path, hostile: Mapping[str, str], exercise: str, honest: str) -> list[str]:
    async def besiege() -> list[str]:
        async with serving(folder) as (app, runner, token):
            return [
                f"{name}: {says}"
                for name, source in sorted(hostile.items())
                for says in [says async for says in broken_by(source, exercise, honest, app, runner, token)]
            ]

    return asyncio.run(besiege())


def test_no_hostile_program_is_right_or_stops_the_site(tmp_path: Path) -> None:
    hostile = {n: source for n, source in attacks().items() if n.startswith(("protocol/", "function/"))}
    assert len(hostile) >= 70
    assert besieged(tmp_path, hostile, "solve", HONEST) == []


def test_no_hostile_schedule_is_right_or_stops_the_site(tmp_path: Path) -> None:
    hostile = sources(ON_SCHEDULES)
    assert len(hostile) >= 25
    honest = str(read_document(SCHEDULE).values["right"])
    assert besieged(tmp_path, hostile, "program", honest) == []
