"""Predictions over HTTP: those of the command, byte for byte."""

import asyncio
import json
from pathlib import Path

from fastapi.testclient import TestClient

from app.__main__ import main
from app.main import create_app
from app.server.config import Settings
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from tests.calling import Caller

ADDRESS = "/api/v1/predict"
Bearer = dict[str, str]
LINE = {"model": "Llama-3.1-8B", "cluster": "One node of 8 H100", "layout": {"data": 8}}


def body(count: int = 120) -> bytes:
    """Lines of every sort: measured, blank, broken, too long, and a last one without its end."""
    lines = [json.dumps({"ref": n, **LINE, "measured": 0.1 + n, "group": str(n % 3)}).encode() for n in range(count)]
    long = b'{"ref": "long", "group": "' + b"x" * (1 << 21) + b'"}'
    lines[40:40] = [b"", b"{", b" \r", long, b'{"ref": "\xff"}', b'{"ref": "\\u00e9"}\r']
    return b"\n".join(lines)


def test_http_and_the_command_give_the_same_bytes(client: TestClient, bearer: Bearer, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(body())
    assert main(["predict", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.jsonl")]) == 1
    raw = body()
    pieces = (raw[start : start + 40_009] for start in range(0, len(raw), 40_009))
    answer = client.post(ADDRESS, content=pieces, headers=bearer)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.content == (tmp_path / "out.jsonl").read_bytes()
    assert answer.content.count(b"\n") == 124
    assert answer.content.count(b'"error"') == 4


def test_the_summary_is_a_last_line_on_request(client: TestClient, bearer: Bearer) -> None:
    answer = client.post(f"{ADDRESS}?summary=true", content=body(), headers=bearer)
    summary = json.loads(answer.text.splitlines()[-1])["summary"]
    assert (summary["predicted"], summary["errors"]) == (120, 4)
    assert (summary["step_time"]["rows"], summary["step_time"]["groups"]) == (120, 3)
    assert client.post(ADDRESS, content=b"", headers=bearer).content == b""
    wrong = client.post(f"{ADDRESS}?summary=perhaps", content=b"", headers=bearer)
    assert wrong.status_code == 422
    assert wrong.headers["content-type"] == "application/problem+json"


def test_a_line_is_answered_before_the_next_is_sent(tmp_path: Path) -> None:
    """And the event loop is free meanwhile; a client that goes away leaves no task behind."""
    line = json.dumps(LINE).encode() + b"\n"

    async def talk() -> tuple[int, int]:
        app = create_app(Settings(database=f"sqlite:///{tmp_path / 'w.db'}"))
        with open_session(app.state.site.engine) as session:
            token = create_token(session, "tests")
        tasks = len(asyncio.all_tasks())
        caller = Caller(app, ADDRESS, [line, line * 40, line], token)
        answering = asyncio.create_task(caller.answer())
        while len(b"".join(caller.sent).splitlines()) < 17:
            await asyncio.sleep(0)
        sent = len(caller._body)
        caller.go_away()
        await answering
        app.state.site.engine.dispose()
        return sent, len(asyncio.all_tasks()) - tasks

    assert asyncio.run(talk()) == (1, 0)
