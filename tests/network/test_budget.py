"""Every request is paid for in processor time, by its address or by the person it comes from."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Scope

from app.classes.people.persons import new_person, open_browser
from app.main import create_app
from app.server.aside import RequestAccount, aside, charge, let_pay
from app.server.config import Settings
from app.server.db.session import open_session, open_writing_session
from app.server.db.tokens import create_token
from app.server.network.allowance import Allowance
from app.server.network.budget import ADVANCE, Budget
from app.site.web.frame.visitor import SESSION
from tests.costs import running

GREEDY, OTHER = "192.0.2.9", "192.0.2.10"
PAGE, FORMULAS = "/glossary", "/api/v1/formulas"
GREEDY_6, SAME_NETWORK = "2001:db8:1:2::1", "2001:db8:1:2:ffff::9"


def scope(address: str) -> Scope:
    return {"type": "http", "client": (address, 1)}


class Books:
    """A budget of ten seconds, and its allowance."""

    def __init__(self, payer: str | None = None) -> None:
        self.allowance = Allowance(10, 60, lambda: 1000.0)
        self.budget = Budget(self.allowance, lambda _: payer)

    def left(self, payer: str) -> float:
        """Seconds that *payer* may still use."""
        low, high = 0.0, 10.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (low, middle) if self.allowance.blocked(payer, middle) else (middle, high)
        return low

    async def paid(self, work: "Work", address: str = GREEDY) -> RequestAccount:
        account = self.budget.account(scope(address))
        await self.budget.charged(account, work())
        return account


class Work:
    """Work of a request: on the event loop, aside, and in another process."""

    def __init__(self, here: float = 0, aside: float = 0, elsewhere: float = 0) -> None:
        self.here, self.aside, self.elsewhere = here, aside, elsewhere
        self.payer: str | None = None

    async def __call__(self) -> None:
        await asyncio.sleep(0)
        busy(self.here)
        if self.payer is not None:
            let_pay(self.payer)
        await aside(busy, self.aside)
        charge(self.elsewhere)


def busy(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_work_is_charged_wherever_it_is_done() -> None:
    async def tried() -> None:
        for work in (Work(here=0.2), Work(aside=0.2), Work(elsewhere=0.2)):
            books = Books()
            account = await books.paid(work)
            assert account.spent == pytest.approx(0.2, abs=0.05)
            assert books.left(GREEDY) == pytest.approx(10 - account.spent, abs=1e-3)
            assert books.left(OTHER) == pytest.approx(10)

    asyncio.run(tried())


def test_work_that_fails_is_charged_too() -> None:
    async def failing() -> None:
        busy(0.1)
        await asyncio.sleep(0)
        raise ValueError("no")

    async def tried() -> None:
        books = Books()
        account = books.budget.account(scope(GREEDY))
        with pytest.raises(ValueError, match="no"):
            await books.budget.charged(account, failing())
        assert books.left(GREEDY) == pytest.approx(9.9, abs=0.03)

    asyncio.run(tried())


def test_many_requests_at_once_pay_in_advance() -> None:
    books = Books()
    for _ in range(round(10 / ADVANCE)):
        books.budget.account(scope(GREEDY))
    with pytest.raises(HTTPException) as refusal:
        books.budget.account(scope(GREEDY))
    assert refusal.value.status_code == 429
    assert books.budget.account(scope(OTHER)).payer == OTHER


def test_a_person_pays_and_not_the_address() -> None:
    async def tried() -> None:
        books, work = Books(), Work(here=0.2)
        work.payer = "person 7"
        await books.paid(work)
        assert books.left("person 7") == pytest.approx(9.8, abs=0.05)
        assert books.left(GREEDY) == pytest.approx(10)
        work.payer = ""  # a grader
        await books.paid(work)
        assert books.left(GREEDY) == pytest.approx(10)

    asyncio.run(tried())


def test_who_is_known_is_admitted_from_an_address_that_has_nothing_left() -> None:
    for payer in ("person 7", ""):
        books = Books(payer)
        books.allowance.charge(GREEDY, 30)
        assert books.budget.account(scope(GREEDY)).payer == payer
    books = Books("person 7")
    books.allowance.charge(GREEDY, 30)
    books.allowance.charge("person 7", 30)
    with pytest.raises(HTTPException):
        books.budget.account(scope(GREEDY))


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("budget")
    return Settings(database=f"sqlite:///{folder / 'w.db'}", sandbox_workers=1, processor_allowed=5)


def test_a_visitor_past_the_budget_is_told_when_to_return_and_others_notice_nothing(settings: Settings) -> None:
    app = create_app(settings)
    site = app.state.site
    with open_writing_session(site.engine) as session:
        cookie = open_browser(session, new_person(session, "Ada").id or 0)
        session.commit()
    with open_session(site.engine) as session:
        token = create_token(session, "grader")
    submission = {"exercise": "collectives/ring-all-reduce-time", "answer": "70 ms"}
    check: dict[str, Any] = {
        "method": "POST",
        "body": json.dumps(submission).encode(),
        "headers": {"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    }

    async def tried() -> None:
        async with running(app) as asker:
            site.allowances.processor.charge(GREEDY, 20)
            page = await asker.ask(PAGE, address=GREEDY)
            assert page.status == 429
            assert 1 <= int(page.headers["retry-after"]) <= 200
            assert "more processor time" in page.text
            assert "default-src" in page.headers["content-security-policy"]
            call = await asker.ask(FORMULAS, address=GREEDY)
            assert call.status == 429
            assert call.headers["content-type"] == "application/problem+json"
            assert (await asker.ask("/healthz", address=GREEDY)).status == 200
            assert (await asker.ask(PAGE, address=OTHER)).status == 200
            person = {"Cookie": f"{SESSION}={cookie}"}
            assert (await asker.ask(PAGE, address=GREEDY, headers=person)).status == 200
            assert (await asker.ask("/api/v1/check", address=GREEDY, **check)).status == 200
            stranger = {"Cookie": f"{SESSION}={cookie[:-1]}", "Authorization": "Bearer wc_no"}
            assert (await asker.ask(PAGE, address=GREEDY, headers=stranger)).status == 429

    asyncio.run(tried())


def test_a_network_of_ipv6_has_one_budget(settings: Settings) -> None:
    app = create_app(settings)

    async def tried() -> None:
        async with running(app) as asker:
            app.state.site.allowances.processor.charge(GREEDY_6, 20)
            assert (await asker.ask(PAGE, address=SAME_NETWORK)).status == 429
            assert (await asker.ask(PAGE, address="2001:db8:1:3::1")).status == 200

    asyncio.run(tried())


def test_what_a_page_costs_is_charged(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(settings.model_copy(update={"processor_allowed": 1}))
    monkeypatch.setattr(app.state.site.allowances.processor, "_clock", lambda: 1000.0)
    dear = "schedule=zb_h1&stages=16&microbatches=64&virtual=8&against=interleaved"

    async def tried() -> None:
        async with running(app) as asker:
            statuses: list[int] = []
            while 429 not in statuses and len(statuses) < 100:
                query = f"{dear}&forward={len(statuses) + 1}+ms"
                statuses.append((await asker.ask("/explore/pipeline", query)).status)
            assert 1 < len(statuses) < 50
            assert set(statuses[:-1]) == {200}

    asyncio.run(tried())


def test_processes_share_the_file_that_metrics_lie_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    settings = Settings(database=f"sqlite:///{tmp_path / 'w.db'}", processor_allowed=5)
    one, other = (create_app(settings).state.site for _ in range(2))
    one.allowances.processor.charge(GREEDY, 20)
    assert other.allowances.processor.blocked(GREEDY) > 0
    for site in (one, other):
        site.engine.dispose()
