"""Programs in a batch: they wait for slots, equal the offline verdicts, and starve nobody."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlmodel import col, select

from app.course.content.catalog import Catalog
from app.main import create_app
from app.server.config import Settings
from app.server.db.learner_cookie import create_token, new_learner, sign
from app.server.db.session import open_session
from app.server.db.tables import AttemptRow
from app.site import Site
from app.site.grading.offline import FileGrader, VerdictTally
from app.site.web.frame.visitor import COOKIE
from tests.calling import Caller, json_body
from tests.waiting import HANGS

pytestmark = pytest.mark.slow(30)

RING = "collectives/write-ring-time"
HONEST = "def ring_allreduce_ms(size_gb, n, bw_gb_s, latency_us):\n    return 1.0\n"
SLOTS = 4


def programs(catalog: Catalog, count: int) -> list[bytes]:
    """Right and foreseen wrong programs of several exercises, and some that are not programs."""
    exercises = [exercise for exercise in catalog.exercises if exercise.kind == "function"]
    rows: list[bytes] = []
    for number in range(count):
        exercise, seed = exercises[number % len(exercises)], number % 7
        wrong = [answer for answer, _ in exercise.mistakes(seed)]
        answer = [exercise.right_answer(seed), *wrong, "def f(:\n", ""][number % (len(wrong) + 3)]
        row = {"exercise": exercise.id, "seed": seed, "answer": answer, "ref": str(number)}
        rows.append(json.dumps(row).encode())
    return rows


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Any, Site, str]]:
    settings = Settings(database=f"sqlite:///{folder / 'w.db'}", sandbox_workers=SLOTS)
    app = create_app(settings)
    site: Site = app.state.site
    with open_session(site.engine) as session:
        token = create_token(session, "school")
    async with app.router.lifespan_context(app):
        assert (await site.runner.ready()).state == "ready"
        yield app, site, token


def in_time(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 10 * HANGS))


def batch(app: Any, token: str, lines: Sequence[bytes], key: str = "") -> Caller:
    return Caller(app, "/api/v1/check/batch", [line + b"\n" for line in lines], token, key=key)


def one(app: Any, token: str) -> Caller:
    row = {"exercise": RING, "seed": 0, "answer": HONEST}
    return Caller(app, "/api/v1/check", json_body(row), token)


async def offline(lines: Sequence[bytes], catalog: Catalog) -> bytes:
    settings = Settings(sandbox_workers=SLOTS)
    grader = FileGrader(catalog, settings)
    rows = [row async for row in grader.grade(enumerate(lines, 1), VerdictTally())]
    await grader.close()
    return b"".join(rows)


def test_a_batch_of_programs_equals_the_offline_verdicts(catalog: Catalog, tmp_path: Path) -> None:
    lines = programs(catalog, 100)

    async def both() -> tuple[bytes, bytes]:
        async with serving(tmp_path) as (app, _, token):
            sent = await batch(app, token, lines).answer()
        return sent, await offline(lines, catalog)

    sent, graded = in_time(both())
    assert sent.splitlines() == graded.splitlines()
    assert len(sent.splitlines()) == 100


def test_a_learner_is_served_beside_batches(catalog: Catalog, tmp_path: Path) -> None:
    lines = programs(catalog, 90)

    async def beside() -> tuple[list[int], int]:
        async with serving(tmp_path) as (app, site, token):
            batches = [asyncio.create_task(batch(app, token, lines).answer()) for _ in range(3)]
            while site.runner.pool._queue._taken < SLOTS - 1:
                await asyncio.sleep(0.001)
            answered = []
            for _ in range(10):
                report = await site.runner.run(HONEST, "ring_allreduce_ms", [(1, 2, 3, 4)], "learner")
                answered.append(len(report.outcomes))
            unfinished = sum(not task.done() for task in batches)
            await asyncio.gather(*batches)
            return answered, unfinished

    answered, unfinished = in_time(beside())
    assert answered == [1] * 10
    assert unfinished == 3


SLOW = "def ring_allreduce_ms(size_gb, n, bw_gb_s, latency_us):\n    for _ in range(200_000):\n        pass\n    return 1.0\n"
QUICK = "collectives/ring-all-reduce-time"


def journal(learners: int) -> list[bytes]:
    """A slow program of each learner, then three quick answers, of which one cannot be read."""
    rows = [
        {"exercise": exercise, "answer": answer, "learner": f"l{learner}", "ref": f"{learner}-{place}"}
        for learner in range(learners)
        for place, (exercise, answer) in enumerate([(RING, SLOW), (QUICK, "1 s"), (QUICK, "1 GB"), (QUICK, "2 s")])
    ]
    return [json.dumps(row).encode() for row in rows]


def stored_answers(site: Site) -> dict[str, list[str]]:
    """The answers of each learner, as they were stored."""
    found: dict[str, list[str]] = {}
    with open_session(site.engine) as session:
        for row in session.exec(select(AttemptRow).order_by(col(AttemptRow.id))):
            found.setdefault(row.learner, []).append(row.answer)
    return found


def test_the_answers_of_a_learner_are_stored_in_the_order_in_which_they_were_sent(tmp_path: Path) -> None:
    async def send() -> dict[str, list[str]]:
        async with serving(tmp_path) as (app, site, token):
            await batch(app, token, journal(9)).answer()
            return stored_answers(site)

    assert in_time(send()) == {f"token:school/l{place}": [SLOW, "1 s", "2 s"] for place in range(9)}


def test_a_batch_that_was_cut_is_sent_again_and_counts_once(tmp_path: Path) -> None:
    lines = journal(24)

    async def cut() -> tuple[dict[str, list[str]], dict[str, list[str]], bytes, bytes]:
        async with serving(tmp_path) as (app, site, token):
            caller = batch(app, token, lines, "k1")
            answering = asyncio.create_task(caller.answer())
            while len(caller.sent) < 8:
                await asyncio.sleep(0.001)
            caller.go_away()
            await answering
            before = stored_answers(site)
            whole = await batch(app, token, lines, "k1").answer()
            return before, stored_answers(site), whole, await batch(app, token, lines, "k1").answer()

    before, after, whole, again = in_time(cut())
    assert 0 < sum(map(len, before.values())) < 72
    assert all(answers == [SLOW, "1 s", "2 s"][: len(answers)] for answers in before.values())
    assert after == {f"token:school/l{place}": [SLOW, "1 s", "2 s"] for place in range(24)}
    assert whole == again
    assert [json.loads(row)["ref"] for row in whole.splitlines()] == [json.loads(row)["ref"] for row in lines]


def test_checks_of_one_token_on_many_connections_are_all_answered(tmp_path: Path) -> None:
    async def crowd() -> list[int]:
        async with serving(tmp_path) as (app, _, token):
            callers = [one(app, token) for _ in range(40)]
            await asyncio.gather(*(caller.answer() for caller in callers))
            return [caller.status for caller in callers]

    assert in_time(crowd()) == [200] * 40


def test_a_client_that_disconnects_in_the_middle_leaves_nothing_behind(
    catalog: Catalog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = programs(catalog, 400)

    async def leave() -> tuple[int, int]:
        async with serving(tmp_path) as (app, site, token):
            tasks = len(asyncio.all_tasks())
            caller = batch(app, token, lines)
            answering = asyncio.create_task(caller.answer())
            while len(caller.sent) < 20:
                await asyncio.sleep(0.001)
            caller.go_away()
            await answering
            while len(site.runner.pool._queue._free) < SLOTS or len(asyncio.all_tasks()) > tasks:
                await asyncio.sleep(0.001)
            following = one(app, token)
            await following.answer()
            return len(b"".join(caller.sent).splitlines()), following.status

    answered, status = in_time(leave())
    assert answered < 200
    assert status == 200
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_cookie_that_is_not_new_makes_a_visitor_a_client_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty programs at once are more than one learner may have waiting, and few for visitors without a cookie."""

    async def visit(folder: str) -> list[set[int]]:
        (tmp_path / folder).mkdir()
        async with serving(tmp_path / folder) as (app, site, _):
            known = [f"{COOKIE}={sign(new_learner(), site.secret)}" for _ in range(3)]
            return [
                await statuses(app, [""] * 20),
                await statuses(app, known[:1] * 20),
                await statuses(app, known[1:] * 5),
                await statuses(app, [f"{COOKIE}=made-up"] * 20),
            ]

    async def statuses(app: Any, cookies: Sequence[str]) -> set[int]:
        form = urlencode({"action": "run", "answer": HONEST}).encode()
        calls = [Caller(app, f"/exercises/{RING}", form, cookie=cookie) for cookie in cookies]
        await asyncio.gather(*(call.answer() for call in calls))
        return {call.status for call in calls}

    assert in_time(visit("new")) == [{200}, {200}, {200}, {200}]
    monkeypatch.setattr("app.server.aside.payer.NEW", 0.0)
    assert in_time(visit("known")) == [{200}, {200, 503}, {200}, {200}]
