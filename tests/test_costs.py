"""No request that a visitor can think of costs much, in the event loop, in bytes or in memory."""

import asyncio
import gc
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from itertools import islice, product
from urllib.parse import urlencode

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from app.core.formulas import FORMULAS
from app.course.explorers import EXPLORERS
from app.course.explorers.base import Explorer
from app.course.explorers.controls import Control, Select, address_text
from app.course.kinds import KINDS
from app.main import create_app
from app.server.config import Settings
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from app.site import web
from tests.costs import Asker, Cost, running
from tests.network.addresses import ROUTES, names_of
from tests.parts import PAGES

pytestmark = [pytest.mark.sweep, pytest.mark.slow(120)]
_CACHED = type(cache(len))
SECONDS, SIZE, MEMORY = 0.05, 1 << 20, 100_000_000
TRIES = 4  # other processes may slow down one of them
LONG = 20_000  # characters
WORDS = ("1e308", "1e-308", "0", "-1", "1000000", "1e12", "9" * 190, "x" * 200, "1," * 100, "nan")
NUMBERS = (10**6, 10**12, 10**300, 1e308, -1, 0, 1e-300, [1.0] * 100_000, [3] * 1_000, "1 " * 90_000)
QUERIES = (
    "q", "seed", "source", "chapter", "hardware", "route", "next", "join", "names", "layout", "model",
    "cluster", "batch", "gpus", "sequence", "guess", "was", "count", "page", "number",
)  # fmt: skip
_SLOT = re.compile(r"\{(\w+)(?::\w+)?\}")
FIELDS = ("answer", "text", "guess", "name", "code", "title", "action", "known", "model", "source")
# Each a text that some reader of answers might take long for.
PIECES = (
    "(", "9", "1+", "a\n", "`", "$x$ ", "[](", "é", "1 ", "-", "**", "<b>", "\\", "1e", "    ", "1,",
    '"""', "\N{GRINNING FACE}", "1 GB + ", "{", "_", "![", "if x:\n ", "not ", "x[", "lambda:",
)  # fmt: skip


class Ledger:
    """Asks, and writes down what costs too much."""

    def __init__(self, asker: Asker, bearer: str) -> None:
        self._asker = asker
        self._bearer = bearer
        self.found: list[str] = []
        self.count = 0

    async def get(self, path: str, query: str = "") -> None:
        await self._look(lambda: self._asker.ask(path, query[:8_000], headers={"Accept-Encoding": "gzip"}))

    async def post(self, path: str, form: dict[str, object]) -> None:
        await self._look(lambda: self._asker.post(path, form))

    async def call(self, path: str, body: object) -> None:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._bearer}"}
        text = json.dumps(body).encode()
        await self._look(lambda: self._asker.ask(path, method="POST", body=text, headers=headers))

    async def _look(self, ask: Callable[[], Awaitable[Cost]]) -> None:
        self.count += 1
        costs: list[Cost] = []
        while not costs or (costs[-1].seconds > SECONDS and len(costs) < TRIES):
            if costs:
                forget()
            costs.append(await ask())
        cost = min(costs, key=lambda one: one.seconds)
        faults = {
            f"{cost.seconds * 1e3:.0f} ms": cost.seconds > SECONDS,
            f"{cost.size:,} bytes": max(one.size for one in costs) > SIZE,
            f"{costs[0].memory >> 20} MB": costs[0].memory > MEMORY,
            f"status {cost.status}": cost.status == 500,
        }
        if any(faults.values()):
            self.found.append(f"{', '.join(n for n, bad in faults.items() if bad)}: {cost.label}")


def forget() -> None:
    """Empty the caches of what is computed for a request."""
    for one in gc.get_objects():
        if isinstance(one, _CACHED):
            module = str(getattr(one, "__module__", ""))
            if module.startswith(
                ("app.course.explorers", "app.core.simulators", "app.core.charts", "app.site.web.explore")
            ):
                one.cache_clear()


@pytest.fixture
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("costs")
    settings = Settings(
        database=f"sqlite:///{folder / 'w.db'}", runs=folder / "runs", sandbox_workers=2,
        answers_allowed=0, sent_runs_allowed=0, runs_allowed=0, lab_queue=0,
        processor_allowed=0,
    )  # fmt: skip
    return create_app(settings)


@asynccontextmanager
async def asked(app: FastAPI) -> AsyncIterator[Ledger]:
    """A ledger, once every page has been shown in English: templates are compiled once."""
    with open_session(app.state.site.engine) as session:
        token = create_token(session, f"costs {len(gc.get_objects())}")
    async with running(app) as asker:
        await app.state.site.runner.ready()
        for path in sorted(web.fixed_addresses()):
            await asker.ask(path)
        yield Ledger(asker, token)


def swept(app: FastAPI, sweep: Callable[[Ledger], Awaitable[None]]) -> None:
    """Run a *sweep*, and show what costs too much."""

    async def run() -> Ledger:
        async with asked(app) as ledger:
            await sweep(ledger)
        return ledger

    ledger = asyncio.run(run())
    assert ledger.count > 100
    assert ledger.found == []


def test_formulas_with_extreme_arguments(app: FastAPI) -> None:
    async def sweep(ledger: Ledger) -> None:
        for formula in FORMULAS.values():
            path, names = f"/formulas/{formula.name}", list(formula.inputs)
            for word in WORDS:
                await ledger.get(path, urlencode(dict.fromkeys(names, word)))
                for name in names:
                    await ledger.get(path, urlencode(dict.fromkeys(names, "4") | {name: word}))
            for number in NUMBERS:
                for name in names:
                    given = dict.fromkeys(names, 4) | {name: number}
                    await ledger.call(f"/api/v1{path}", given)
            await ledger.call(f"/api/v1{path}", dict.fromkeys(map(str, range(20_000)), 1))

    swept(app, sweep)


def states(explorer: Explorer) -> Iterator[dict[str, str]]:
    """Each control at its ends and beyond them; all at their ends, for every selection."""
    for control in explorer.controls:
        for text in (*ends(control), *WORDS):
            yield {control.name: text}
    chosen = (control.options if isinstance(control, Select) else () for control in explorer.controls)
    selects = [one.name for one in explorer.controls if isinstance(one, Select)]
    for options in islice(product(*filter(None, chosen)), 40):
        for end in (0, -1):
            state = {one.name: ends(one)[end] for one in explorer.controls}
            yield state | dict(zip(selects, options, strict=True))


def ends(control: Control) -> Sequence[str]:
    if isinstance(control, Select):
        return tuple(control.options)
    return tuple(address_text(control, value) for value in (control.low, control.high))


def test_explorers_in_extreme_states(app: FastAPI) -> None:
    async def sweep(ledger: Ledger) -> None:
        for explorer in EXPLORERS.values():
            for number, state in enumerate(states(explorer)):
                query = urlencode(state)
                await ledger.get(f"/explore/{explorer.name}", query)
                if number % 10 == 0:
                    await ledger.get(f"/explore/{explorer.name}", f"{query}&{urlencode({'was': query})}")
                    await ledger.get(f"/explore/{explorer.name}", f"{query}&guess=1e308")
                    await ledger.get(f"/explore/{explorer.name}/0.svg", query)
                    await ledger.get(f"/explore/{explorer.name}/0.csv", query)

    swept(app, sweep)


def test_answers_of_every_kind(app: FastAPI) -> None:
    async def sweep(ledger: Ledger) -> None:
        for name, kind in KINDS.items():
            page = f"/exercises/{kind.sample}"
            await ledger.get(page)
            question = app.state.site.catalog.exercise(kind.sample).question(0)
            fields = [one.name for one in getattr(question, "fields", ())]
            for piece in PIECES:
                text = piece * (LONG // len(piece))
                await ledger.post(page, {"answer": text, **dict.fromkeys(fields, text[:5_000])})
                await ledger.post(page, {"answer": [text[:200]] * 190, "action": "check"})
                for answer in (
                    text,
                    [text[:5]] * 3_000,
                    {str(number): text[:5] for number in range(2_000)},
                    dict.fromkeys(fields, text) or text[:100],
                ):
                    await ledger.call("/api/v1/check", {"exercise": kind.sample, "answer": answer})
            assert ledger.count, name

    swept(app, sweep)


PROGRAMS = (
    "return [('F', 0, rank)] * 2000",
    "return [('F', -1 - (i & 1), -1 - (i >> 1 & 1)) for i in range(2000)]",
    "return [('drop', ('x',) + tuple(-1 - (i >> k & 1) for k in range(11))) for i in range(2000)]",
    "return [('drop', ('x', *([0] * 12000)))]",
    "return [('F', 10**5 * i, i) for i in range(2000)]",
    "return [('send', (rank + 1) % 2, ('x', 0, 0)), ('recv', (rank + 1) % 2, ('x', 0, 0))] * 1000",
    "return [('B', 0, i) for i in range(2000)]",
    "return [[[[['F', 0, 0]]]]] * 2000",
    "return ['x' * 30000]",
    "return 10 ** 4000",
)


def test_schedules_of_thousands_of_instructions(app: FastAPI) -> None:
    async def sweep(ledger: Ledger) -> None:
        samples = [e.id for e in app.state.site.catalog.exercises if e.kind == "schedule"][:6]
        for sample in samples:
            for program in PROGRAMS:
                source = f"def program(rank):\n    {program}\n"
                await ledger.post(f"/exercises/{sample}", {"answer": source, "action": "run"})
                await ledger.post(f"/exercises/{sample}", {"answer": source, "action": "check"})
                await ledger.call("/api/v1/check", {"exercise": sample, "answer": source})

    swept(app, sweep)


def test_every_drawing_of_the_course_is_made_aside(app: FastAPI) -> None:
    async def sweep(ledger: Ledger) -> None:
        for exercise in app.state.site.catalog.exercises:
            await ledger.get(f"/exercises/{exercise.id}", "seed=0")
            await ledger.get(f"/api/v1/exercises/{exercise.id}", "seed=999999")

    swept(app, sweep)


def test_every_route_with_extreme_parameters(app: FastAPI) -> None:
    async def sweep(ledger: Ledger) -> None:
        for method, route in ROUTES:
            names = names_of(route)
            path = _SLOT.sub(lambda slot: names.get(slot[1], "1"), route)  # noqa: B023
            if method == "GET":
                for word in WORDS:
                    await ledger.get(path, urlencode(dict.fromkeys(QUERIES, word)))
                await ledger.get(path, urlencode({"q": "a" * 7_000}))
                await ledger.get(path, urlencode({f"a{number}": 1 for number in range(900)}))
            elif method == "POST" and not route.startswith("/api/"):
                for piece in ("a", "%", "\N{GRINNING FACE}", "1 "):
                    await ledger.post(path, dict.fromkeys(FIELDS, piece * 1_000))
                    await ledger.post(path, {"answer": piece * 40_000, "text": piece})
                await ledger.post(path, {"answer": ["a"] * 900})

    swept(app, sweep)


def test_the_sweep_knows_every_page() -> None:
    paths = {r.path for part in PAGES for r in part.router.routes if isinstance(r, APIRoute)}
    assert paths - {path for _, path in ROUTES} == set()
