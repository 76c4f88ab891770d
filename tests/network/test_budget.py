"""Every request is paid for in processor time, by its address or by the person it comes from."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Scope

import app.server.aside
from app.classes.people.persons import new_person, open_browser
from app.main import create_app
from app.server.aside import RequestAccount, aside, charge, pay_nothing
from app.server.aside.payer import Payer, network
from app.server.config import Settings
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session, open_writing_session
from app.server.network.allowance import ADVANCE, Allowance, Budget, BudgetItem
from app.site.web.frame.visitor import SESSION
from tests.costs import running
from tests.waiting import until

GREEDY, OTHER = "192.0.2.9", "192.0.2.10"
PAGE, FORMULAS = "/glossary", "/api/v1/formulas"
GREEDY_PAYER = Payer(GREEDY)
WAYS_IN = ("/sign-in", "/sign-in/back", "/join/abc", "/lti/login", "/lti", "/favicon.ico")
GREEDY_6, SAME_NETWORK = "2001:db8:1:2::1", "2001:db8:1:2:ffff::9"


def scope(address: str, path: str = PAGE) -> Scope:
    return {"type": "http", "client": (address, 1), "path": path}


class Books:
    """A budget of ten seconds, and its allowance; another of as many for ways in."""

    def __init__(self, payer: Payer = GREEDY_PAYER) -> None:
        self.allowance, self.ways_in = (Allowance(10, 60, lambda: 1000.0) for _ in range(2))
        self.asked = 0
        self.payer = payer
        items = [BudgetItem("ways in", self.ways_in, lambda path: path == "/sign-in")]
        self.budget = Budget(self.allowance, self.find_payer, items)

    async def find_payer(self, _: Scope) -> Payer:
        self.asked += 1
        return self.payer

    def left(self, name: str) -> float:
        """Seconds that a purse still has."""
        low, high = 0.0, 10.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (low, middle) if self.allowance.blocked(name, middle) else (middle, high)
        return low

    async def paid(self, work: Callable[[], Coroutine[Any, Any, None]], path: str = PAGE) -> RequestAccount:
        """The account of a request, once it has been closed."""
        accounts: list[RequestAccount] = []

        async def accounted() -> None:
            found = app.server.aside._ACCOUNT.get()
            assert found
            accounts.append(found)
            await work()

        await self.budget.charged(scope(GREEDY, path), accounted)
        return accounts[0]


class Work:
    """Work of a request: on the event loop, aside, and in another process."""

    def __init__(self, here: float = 0, aside: float = 0, elsewhere: float = 0) -> None:
        self.here, self.aside, self.elsewhere = here, aside, elsewhere
        self.token = ""

    async def __call__(self) -> None:
        await asyncio.sleep(0)
        busy(self.here)
        if self.token:
            pay_nothing(self.token)
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
        with pytest.raises(ValueError, match="no"):
            await books.paid(failing)
        assert books.left(GREEDY) == pytest.approx(9.9, abs=0.03)

    asyncio.run(tried())


def test_many_requests_at_once_pay_in_advance() -> None:
    async def tried() -> None:
        books, end = Books(), asyncio.Event()

        async def waiting() -> None:
            await end.wait()

        asks = [asyncio.create_task(books.paid(waiting)) for _ in range(round(10 / ADVANCE))]
        await until(lambda: books.asked == len(asks))
        with pytest.raises(HTTPException) as refusal:
            await books.paid(waiting)
        assert refusal.value.status_code == 429
        end.set()
        await asyncio.gather(*asks)
        assert books.left(GREEDY) == pytest.approx(10, abs=0.5)

    asyncio.run(tried())


def test_a_person_pays_and_not_the_address() -> None:
    async def tried() -> None:
        books = Books(Payer(GREEDY, "ada", is_person=True))
        await books.paid(Work(here=0.2))
        assert books.left("ada") == pytest.approx(9.8, abs=0.05)
        assert books.left(GREEDY) == pytest.approx(10)
        assert 10 - books.left(f"everybody at {GREEDY}") == pytest.approx(0.2 / 8, abs=0.01)

    asyncio.run(tried())


def test_who_shows_a_token_pays_nothing_not_even_in_advance() -> None:
    async def tried() -> None:
        for books in (Books(), Books(Payer(GREEDY, token="course"))):
            work = Work(here=0.2)
            work.token = "course"
            await books.paid(work)
            assert books.left(GREEDY) == pytest.approx(10)

    asyncio.run(tried())


def test_a_way_in_has_a_budget_of_its_own_that_the_address_pays() -> None:
    async def tried() -> None:
        books = Books()
        books.allowance.charge(GREEDY, 30)
        with pytest.raises(HTTPException):
            await books.paid(Work())
        books.asked = 0
        account = await books.paid(Work(here=0.2), "/sign-in")
        assert (account.payer, account.purpose, books.asked) == (GREEDY_PAYER, "ways in", 0)
        assert books.ways_in.blocked(GREEDY, 9.7) == 0 < books.ways_in.blocked(GREEDY, 9.9)

    asyncio.run(tried())


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("budget")
    return Settings(database=f"sqlite:///{folder / 'w.db'}", sandbox_workers=1, processor_allowed=5)


def test_a_visitor_past_the_budget_is_told_when_to_return_and_others_notice_nothing(settings: Settings) -> None:
    app = create_app(settings)
    site = app.state.site
    with open_writing_session(site.engine) as session:
        ada, new = new_person(session, "Ada"), new_person(session, "Bob")
        ada.made -= timedelta(minutes=6)
        cookie, young = (open_browser(session, one.id or 0) for one in (ada, new))
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
            site.allowances.processor.charge(GREEDY_PAYER, 20)
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
            new = {"Cookie": f"{SESSION}={young}"}
            assert (await asker.ask(PAGE, address=GREEDY, headers=new)).status == 200
            site.allowances.processor.charge(f"newcomers at {GREEDY}", 5)
            assert (await asker.ask(PAGE, address=GREEDY, headers=new)).status == 429
            for way in WAYS_IN:
                assert (await asker.ask(way, address=GREEDY)).status in (200, 400, 404), way
            site.allowances.ways_in.charge(GREEDY_PAYER, 20)
            assert [(await asker.ask(way, address=GREEDY)).status for way in WAYS_IN[-1:]] == [200], (
                "a page has its style"
            )
            assert {(await asker.ask(way, address=GREEDY)).status for way in WAYS_IN[:-1]} == {429}
            stranger = {"Cookie": f"{SESSION}={cookie[:-1]}", "Authorization": "Bearer wc_no"}
            assert (await asker.ask(PAGE, address=GREEDY, headers=stranger)).status == 429

    asyncio.run(tried())


def test_a_network_of_ipv6_has_one_budget(settings: Settings) -> None:
    app = create_app(settings)

    async def tried() -> None:
        async with running(app) as asker:
            app.state.site.allowances.processor.charge(network(GREEDY_6), 20)
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
