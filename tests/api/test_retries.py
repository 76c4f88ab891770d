"""The same request with the same Idempotency-Key is one attempt, here and on other servers."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine
from sqlmodel import select

from app.server.db.learner_cookie import create_token
from app.server.db.replays import REMEMBERED, KeyTakenError, ReplayedAttempt, find_replay, is_replayed
from app.server.db.session import connect, open_session
from app.server.db.tables import AttemptRow, Replay, ReplayRow, now
from app.server.db.writer import Writer, store
from app.site import Site
from tests.db.test_rows import attempt
from tests.waiting import HANGS

RING = "collectives/ring-all-reduce-time"
FUNCTION = "collectives/write-ring-time"
Bearer = dict[str, str]


def send(client: TestClient, bearer: Bearer, key: str, answer: object, **more: object) -> Any:
    body = {"exercise": RING, "answer": answer, **more}
    return client.post("/api/v1/check", json=body, headers={**bearer, "Idempotency-Key": key})


@pytest.fixture
def engine(site: Site) -> Engine:
    return site.engine


def stored(engine: Engine, answer: str) -> int:
    with open_session(engine) as session:
        return len(session.exec(select(AttemptRow).where(AttemptRow.answer == answer)).all())


def test_a_retry_is_one_attempt_and_gets_the_same_result(client: TestClient, bearer: Bearer, site: Site) -> None:
    key, answer = str(uuid4()), "70.125 ms"
    first, second = send(client, bearer, key, answer), send(client, bearer, key, answer)
    assert first.status_code == second.status_code == 200
    assert first.content == second.content
    assert first.json()["verdict"] == "correct"
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert stored(site.engine, answer) == 1
    without = client.post("/api/v1/check", json={"exercise": RING, "answer": answer}, headers=bearer)
    assert without.json() == first.json()
    assert stored(site.engine, answer) == 2


def test_an_answer_that_cannot_be_read_is_repeated_too(client: TestClient, bearer: Bearer) -> None:
    key = str(uuid4())
    first, second = send(client, bearer, key, "70 GB"), send(client, bearer, key, "70 GB")
    assert first.json()["verdict"] == "unreadable"
    assert second.content == first.content
    assert second.headers["idempotent-replayed"] == "true"


def send_batch(client: TestClient, bearer: Bearer, key: str, *rows: dict[str, object]) -> list[dict[str, Any]]:
    lines = "\n".join(json.dumps({"exercise": RING, **row}) for row in rows)
    headers = {**bearer, "Idempotency-Key": key} if key else bearer
    answer = client.post("/api/v1/check/batch", content=lines, headers=headers)
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_batch_that_is_sent_again_is_one_and_gets_the_same_verdicts(
    client: TestClient, bearer: Bearer, site: Site
) -> None:
    key, answer = str(uuid4()), "70.25 ms"
    rows: list[dict[str, object]] = [
        {"answer": answer, "ref": "a"},
        {"answer": answer},
        {"answer": "70 GB", "ref": 1},
        {"answer": answer, "ref": "a"},  # twice on purpose
        {"answer": answer, "exercise": "collectives/ring", "ref": "e"},
    ]
    first = send_batch(client, bearer, key, *rows)
    assert [row.get("verdict") for row in first] == ["correct", "correct", "unreadable", "correct", None]
    assert send_batch(client, bearer, key, *rows) == first
    assert stored(site.engine, answer) == 3
    rest: list[dict[str, object]] = [rows[2], rows[0], {"answer": "70.25 ms", "ref": "b"}]
    assert [row["verdict"] for row in send_batch(client, bearer, key, *rest)] == ["unreadable", "correct", "correct"]
    assert stored(site.engine, answer) == 4  # the one with another ref alone
    (other,) = send_batch(client, bearer, key, {"answer": "71 ms", "ref": "a"})
    assert "used for a different answer" in other["error"]
    send_batch(client, bearer, str(uuid4()), rows[0])
    send_batch(client, bearer, "", rows[0])
    assert stored(site.engine, answer) == 6


def test_a_key_of_a_batch_and_of_a_check_are_apart(client: TestClient, bearer: Bearer, site: Site) -> None:
    key, answer = str(uuid4()), "70.0625 ms"
    send(client, bearer, key, answer)
    send_batch(client, bearer, key, {"answer": answer})
    assert stored(site.engine, answer) == 2
    wrong = client.post("/api/v1/check/batch", content="{}", headers={**bearer, "Idempotency-Key": "a b"})
    assert wrong.status_code == 400


@pytest.mark.parametrize("change", [{"answer": "71 ms"}, {"seed": 3}, {"ref": "b"}])
def test_a_key_belongs_to_one_answer(client: TestClient, bearer: Bearer, change: dict[str, object]) -> None:
    key = str(uuid4())
    assert send(client, bearer, key, "70 ms").status_code == 200
    other = send(client, bearer, key, **{"answer": "70 ms", **change})
    assert other.status_code == 422
    assert "used for a different answer" in other.json()["detail"]
    assert send(client, bearer, key, "70 ms").status_code == 200


def test_the_same_answer_written_differently_is_the_same(client: TestClient, bearer: Bearer) -> None:
    headers = {**bearer, "Idempotency-Key": str(uuid4()), "Content-Type": "application/json"}
    texts = ['{"exercise": "%s", "answer": "1 s"}', '{ "seed":0,"answer":"1 s","exercise":"%s" }']
    answers = [client.post("/api/v1/check", content=t % RING, headers=headers) for t in texts]
    assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true"]


def test_a_refused_request_may_be_corrected_under_the_same_key(client: TestClient, bearer: Bearer) -> None:
    key = str(uuid4())
    assert send(client, bearer, key, "1", exercise="no/such").status_code == 404
    assert send(client, bearer, key, "70 ms").status_code == 200


def test_two_graders_may_use_the_same_key(client: TestClient, bearer: Bearer, site: Site) -> None:
    key = str(uuid4())
    with open_session(site.engine) as session:
        other = {"Authorization": f"Bearer {create_token(session, key[:20])}"}
    assert send(client, bearer, key, "70 ms").status_code == 200
    again = send(client, other, key, "35 ms")
    assert again.json()["verdict"] == "incorrect"


@pytest.mark.parametrize("key", ["", "a" * 256, "a b", "a\tb", "\xe4", "\x7f"])
def test_a_key_is_visible_ascii(client: TestClient, bearer: Bearer, key: str) -> None:
    headers = {b"Idempotency-Key": key.encode("latin-1"), b"Authorization": bearer["Authorization"]}
    body = {"exercise": RING, "answer": "1"}
    answer = client.post("/api/v1/check", json=body, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert "255 visible ASCII" in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_longest_key_is_stored_whole(client: TestClient, bearer: Bearer) -> None:
    keys = ["!" * 254 + "a", "!" * 254 + "~"]
    answers = [send(client, bearer, key, "70 ms") for key in keys]
    assert ["idempotent-replayed" in answer.headers for answer in answers] == [False, False]


def once(key: str, answer: str, **changes: object) -> ReplayedAttempt:
    values: dict[str, object] = {"learner": "l", "key": key, "digest": "d", "verdict": answer}
    return ReplayedAttempt(attempt(answer=answer), Replay.model_validate({**values, **changes}))


def test_of_many_at_once_one_is_stored(engine: Engine) -> None:
    async def write() -> list[BaseException | None]:
        writers = [Writer(engine) for _ in range(2)]
        for writer in writers:
            writer.start()
        puts = [writer.put(once("many", str(n))) for n in range(10) for writer in writers]
        results = await asyncio.gather(*puts, return_exceptions=True)
        for writer in writers:
            await writer.close()
        return results

    results = asyncio.run(write())
    assert results.count(None) == 1
    assert all(isinstance(result, KeyTakenError) for result in results if result)
    found = find_replay(engine, "l", "many")
    assert found is not None
    assert found.verdict in {str(n) for n in range(10)}


def test_a_taken_key_does_not_sink_its_neighbors(engine: Engine) -> None:
    assert store(engine, [once("taken", "first of it")]) == [None]
    kept = store(engine, [attempt(answer="before"), once("taken", "second of it"), once("new", "after")])
    assert [type(refusal) for refusal in kept] == [type(None), KeyTakenError, type(None)]
    assert stored(engine, "second of it") == 0
    assert stored(engine, "after") == 1


def test_the_same_key_of_another_learner_is_another_key(engine: Engine) -> None:
    store(engine, [once("shared", "mine"), once("shared", "theirs", learner="m")])
    for learner, verdict in (("l", "mine"), ("m", "theirs")):
        found = find_replay(engine, learner, "shared")
        assert found is not None
        assert found.verdict == verdict
    assert find_replay(engine, "n", "shared") is None


def test_only_the_very_replay_is_known_again(engine: Engine) -> None:
    first = once("again", "1")
    store(engine, [first])
    others = [once("again", "1"), once("again", "1", digest="e", at=first.replay.at), once("other", "1")]
    others += [once("again", "1", learner="m", at=first.replay.at)]
    with engine.connect() as connection:
        assert [is_replayed(connection, one) for one in (first, *others)] == [True, *[False] * len(others)]


def test_a_key_is_forgotten_after_a_day(engine: Engine) -> None:
    old = now() - REMEMBERED - timedelta(seconds=1)
    store(engine, [once("old", "1", at=old)])
    with open_session(engine) as session:  # it waits for the next one to be deleted
        assert len(session.exec(select(ReplayRow).where(ReplayRow.key == "old")).all()) == 1
    assert find_replay(engine, "l", "old") is None
    assert store(engine, [once("old", "2")]) == [None]
    found = find_replay(engine, "l", "old")
    assert found is not None
    assert found.verdict == "2"
    with open_session(engine) as session:
        assert len(session.exec(select(ReplayRow).where(ReplayRow.key == "old")).all()) == 1


@contextmanager
def servers(folder: Path, count: int) -> Iterator[tuple[list[str], str]]:
    """The addresses of *count* servers with one database, and a token for all."""
    environment = {
        **os.environ,
        "WALLCLOCK_DATABASE": f"sqlite:///{folder / 'w.db'}",
        "WALLCLOCK_RUNS": str(folder / "runs"),
        "WALLCLOCK_SANDBOX_WORKERS": "1",
    }
    program = [sys.executable, "-m", "app"]
    made = subprocess.run(
        [*program, "token", "create", "t"], env=environment, capture_output=True, text=True, check=True
    )
    started = [
        subprocess.Popen([*program, "serve", "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    try:
        addresses = []
        for process in started:
            assert process.stderr is not None
            found = re.search(r"http://\S+", process.stderr.readline())
            assert found
            addresses.append(found[0])
        yield addresses, made.stdout.strip()
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.communicate()


@pytest.mark.slow(10)
def test_two_servers_store_one_attempt_when_both_receive_it_at_once(tmp_path: Path) -> None:
    with servers(tmp_path, 2) as (addresses, token), ThreadPoolExecutor(8) as pool:

        def check(address: str, key: str, answer: str) -> bytes:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key}
            body = json.dumps({"exercise": RING, "answer": answer}).encode()
            with urlopen(Request(f"{address}/api/v1/check", body, headers), timeout=HANGS) as reply:
                return bytes(reply.read())

        for turn in range(20):
            answer = f"{turn}.5 ms"
            sent = [pool.submit(check, addresses[n % 2], f"key-{turn}", answer) for n in range(8)]
            assert len({one.result() for one in sent}) == 1
    engine = connect(f"sqlite:///{tmp_path / 'w.db'}")
    assert [stored(engine, f"{turn}.5 ms") for turn in range(20)] == [1] * 20
    engine.dispose()
