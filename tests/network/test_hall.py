"""A hall behind one address signs in, whatever two of it do: `python -m tests.bench hall` measures how fast."""

import asyncio
from pathlib import Path

import pytest

from app.classes.people.classes import Role, create_class, enroll, number_of, renew_seat_code
from app.classes.people.persons import new_person
from app.main import create_app
from app.server.aside.payer import Payer
from app.server.config import Settings
from app.server.db.session import open_writing_session
from app.site import Site
from tests.costs import Asker, Cost, running

HALL = "192.0.2.9"
DEAR = "schedule=zb_h1&stages=16&microbatches=64&virtual=8&against=interleaved"
STUDENTS = 30


@pytest.fixture
def site(tmp_path: Path) -> Site:
    settings = Settings(database=f"sqlite:///{tmp_path / 'w.db'}", sandbox_workers=1, processor_allowed=20)
    found = create_app(settings).state.site
    assert isinstance(found, Site)
    return found


def seats(site: Site) -> list[str]:
    """The codes of a class whose persons are new."""
    with open_writing_session(site.engine) as session:
        number = number_of(create_class(session, site.secret, "Hall", "UTC"))
        rows = [
            enroll(session, number, number_of(new_person(session, "S")), Role.STUDENT, f"S{n}") for n in range(STUDENTS)
        ]
        codes = [renew_seat_code(session, row) for row in rows]
        session.commit()
    return codes


async def arrive(asker: Asker, code: str) -> list[int]:
    """The statuses that a student sees who signs in, and looks at the class."""
    form = await asker.ask("/sign-in", address=HALL)
    entered = await asker.post("/sign-in", {"code": code}, address=HALL)
    cookie = {"Cookie": entered.headers.get("set-cookie", "").partition(";")[0]}
    page = await asker.ask(entered.headers.get("location", "/classes"), address=HALL, headers=cookie)
    style = await asker.ask("/static/nothing.css", address=HALL)
    return [form.status, entered.status, page.status, style.status]


def test_a_hall_signs_in_beside_wrong_codes_and_a_spent_budget(site: Site) -> None:
    codes = seats(site)
    app = create_app(site=site)
    refused: list[Cost] = []

    async def vandal(asker: Asker) -> None:
        while True:
            refused.append(await asker.post("/sign-in", {"code": "ZZZZ-ZZZZ"}, address=HALL))

    async def greedy(asker: Asker, connection: int) -> None:
        for number in range(9999):
            query = f"{DEAR}&forward={1000 + 8 * number + connection}+ms"
            refused.append(await asker.ask("/explore/pipeline", query, address=HALL))

    async def tried() -> None:
        async with running(app) as asker:
            site.allowances.processor.wait(Payer(HALL), 20)  # the greedy one has been there for a while
            others = [asyncio.create_task(one) for one in (vandal(asker), *(greedy(asker, n) for n in range(8)))]
            while not any(one.status == 429 for one in refused):
                await asyncio.sleep(0.01)
            seen = await asyncio.gather(*(arrive(asker, code) for code in codes))
            for one in others:
                one.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        assert seen == [[200, 303, 200, 404]] * STUDENTS
        assert {one.status for one in refused} >= {422, 429}

    asyncio.run(tried())
