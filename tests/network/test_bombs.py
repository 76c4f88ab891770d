"""Bombs of every format, through every door that takes texts: an answer soon, and nobody else waits."""

import asyncio
import json
import time
from collections.abc import Awaitable, Iterator
from pathlib import Path
from secrets import token_hex
from urllib.parse import quote

import pytest

from app.core.formulas.configurations import CONFIGURATION_LIMIT, is_configuration, layout_fields, model_fields
from app.main import create_app
from app.server.aside import child_process
from app.server.config import Settings
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from tests.costs import Asker, Cost, running

SECONDS = 3.0  # of processor time, the process that reads included: two for a text, and one for the page
HELD_UP = 0.5  # seconds of processor time of the server between two answers to others
MODEL = '{"model_type": "llama", "hidden_size": %s, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 9}'
PIECES = {
    "line ends": "\n", "dashes": "\n-", "names": "a: ", "dots": "a .", "arguments": "--a ", "spaces": " ",
    "printed": "\na ... b", "colons": "a:", "brackets": "[", "braces": '{"a":', "lists": '{"a":[', "dotted": "a.",
    "tables": "[a.", "comma": ",", "YAML": "\n- a: &a", "YAML lists": "\n  - [", "equals": "--a=", "tabs": "\t\r\n",
}  # fmt: skip


def bombs(size: int) -> Iterator[tuple[str, str]]:
    """Texts of at most *size* characters, and their names."""
    for name, piece in PIECES.items():
        many = piece * (size // len(piece) - 6)
        yield name, f"x{many}"
        yield f"{name} behind a table", f"[a]\n{many}=1"
        yield f"{name} behind a brace", f"{{{many}"
    yield "line ends and dashes", "x" + "\n" * (size // 3) + "-" * (size * 2 // 3 - 9)
    yield "deep JSON", '{"a":' * (size // 7) + "1" + "}" * (size // 7)
    yield "deep lists", '{"a":' + "[" * (size // 2 - 9) + "]" * (size // 2 - 9) + "}"
    yield "wide JSON", "{" + ",".join(f'"{number:05}":1' for number in range(size // 11)) + "}"
    for value in ("NaN", "Infinity", "1e999", "-1", "1e300", f"{10**40}", "9" * (size - 120), "null", "[]", '"32"'):
        yield f"a size of {value[:9]}", MODEL % value
    yield "TOML with a long key", f"[a]\n{'a.' * (size // 2 - 9)}a=1"
    yield "TOML with a long name of a table", f"[{'a.' * (size // 2 - 9)}a]\nx=1"
    yield "TOML with many tables", "\n".join(f"[a{number}]" for number in range(size // 9))
    yield "TOML with many long keys", "[a]\n" + f"{'a.' * 99}a=1\n" * (size // 203)
    yield "TOML with a long number", f"[parallelism]\ntensor_parallel_degree = {'9' * (size - 60)}"
    yield "arguments with a long number", f"--num-layers 9 --hidden-size {'9' * (size - 60)}"
    yield "printed arguments", "hidden_size ... 9\n" * (size // 18 - 1)


async def held_up(asker: Asker, asked: Awaitable[Cost]) -> tuple[Cost, float]:
    """The response, and the most that the server worked between two answers to somebody else meanwhile."""
    task, longest = asyncio.ensure_future(asked), 0.0
    while not task.done():
        begin = time.process_time()
        other = await asker.ask("/livez", address="198.51.100.1")
        assert other.status == 200
        await asyncio.sleep(0.005)
        longest = max(longest, time.process_time() - begin)
    return await task, longest


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(database=f"sqlite:///{tmp_path / 'w.db'}", sandbox_workers=1, processor_allowed=0)


def test_a_page_answers_every_bomb_while_others_are_served(settings: Settings) -> None:
    async def tried() -> dict[str, str]:
        faults = {}
        async with running(create_app(settings)) as asker:
            for name, text in bombs(2_600):
                query = f"configuration={quote(text)}"[:7_900]
                begin = time.process_time()
                cost, longest = await held_up(asker, asker.ask("/explore/fit", query))
                if cost.status != 200 or longest > HELD_UP or time.process_time() - begin > SECONDS:
                    faults[name] = f"{cost.status}, held up for {longest:.2f} s"
            for path in ("/explore/fit", "/explore/fit/0.csv", "/pictures/explore/fit.png"):
                begin = time.process_time()
                cost, longest = await held_up(asker, asker.ask(path, f"configuration={quote(text)}"))
                if cost.status >= 500 or longest > HELD_UP:
                    faults[path] = f"{cost.status}, held up for {longest:.2f} s"
        return faults

    assert asyncio.run(tried()) == {}


def test_predictions_answer_every_bomb_while_others_are_served(settings: Settings) -> None:
    async def tried() -> dict[str, str]:
        faults = {}
        app = create_app(settings)
        with open_session(app.state.site.engine) as session:
            headers = {"Authorization": f"Bearer {create_token(session, 'tests')}"}
        async with running(app) as asker:
            for name, text in bombs(CONFIGURATION_LIMIT):
                line = {"ref": name, "model": "Llama-3.1-8B", "cluster": "8 H100", "layout": "data=8"}
                lines = [{**line, "model": text}, {**line, "layout": text}, line]
                body = b"\n".join(json.dumps(one).encode() for one in lines)
                ask = asker.ask("/api/v1/predict", method="POST", body=body, headers=headers)
                cost, longest = await held_up(asker, ask)
                last = json.loads(cost.text.splitlines()[-1])
                if cost.status != 200 or longest > HELD_UP or "step_time" not in last:
                    faults[name] = f"{cost.status}, held up for {longest:.2f} s: {cost.text[:99]}"
        return faults

    assert asyncio.run(tried()) == {}


@pytest.mark.parametrize("read", [is_configuration, model_fields, layout_fields])
def test_a_command_line_reads_every_bomb_soon(read: object) -> None:
    assert callable(read)
    slow = {}
    for name, text in bombs(CONFIGURATION_LIMIT):
        begin = time.process_time()
        try:
            read(text)
        except ValueError as error:
            assert str(error)
        if (seconds := time.process_time() - begin) > 1.5:
            slow[name] = seconds
    assert slow == {}


def test_a_text_that_takes_too_long_is_told_where_and_what_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "SECONDS", 0.0)
    monkeypatch.setattr(child_process, "_LEAST_PATIENCE", 0.0)

    async def tried() -> tuple[str, str]:
        app = create_app(settings)
        with open_session(app.state.site.engine) as session:
            headers = {"Authorization": f"Bearer {create_token(session, token_hex(4))}"}
        async with running(app) as asker:
            page = await asker.ask("/explore/fit", f"configuration={quote(MODEL % 9)}")
            body = json.dumps({"model": MODEL % 9, "cluster": "8 H100", "layout": "data=8"}).encode()
            lines = await asker.ask("/api/v1/predict", method="POST", body=b"\n" + body, headers=headers)
        return page.text, json.loads(lines.text).get("error", "")

    # On a busy machine a reply may be there before anyone has looked at the clock: then it is asked for again.
    answers = (asyncio.run(tried()) for _ in range(10))
    page, line = next(one for one in answers if all("reading it took longer" in text for text in one))
    assert "The pasted configuration was not read: reading it took longer than" in page
    assert line.startswith("line 2: reading it took longer than")
    assert line.endswith("leave out what is not needed, and send it again")
