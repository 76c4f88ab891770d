"""What a visitor may store: bytes of an address and a day, whichever door they come by."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from httpx2 import Response

from app.core.measurements.published import text_of
from app.main import create_app, create_site
from app.server.aside.payer import Payer
from app.server.config import Settings
from app.server.db.people import PersonRow
from app.server.db.session import open_writing_session
from app.site import Site
from app.site.web.frame.visitor import SESSION
from tests.client import Client
from tests.labs.quiet_runs import quiet_run
from tests.people.school import RING, School
from tests.web.test_saved import compare, seals

DAY = 86_400.0
ROOM = 100_000  # bytes of an address and a day in these tests
Send = Callable[[Client], Response]


SEALS: list[str] = []
EMPTY = json.dumps({"attempts": [], "reveals": []})
RUN = quiet_run("all-reduce").as_json()


# Each stores something for a visitor whom nobody knows.
DOORS: dict[str, Send] = {
    "an answer": lambda c: c.post(f"/exercises/{RING}", data={"answer": "1 s"}),
    "a hint": lambda c: c.post(f"/exercises/{RING}", data={"action": "hint"}),
    "known chapters": lambda c: c.post("/progress/known", data={"chapter": "collectives"}),
    "an answer in the placement": lambda c: c.post("/placement/1/1", data={"answer": "1"}),
    "an answer in a final": lambda c: c.post("/final/1/1", data={"answer": "1"}),
    "a run": lambda c: c.post("/labs/all-reduce", data={}),
    "a run of another machine": lambda c: c.post("/labs/all-reduce/board", files={"run": ("r.json", RUN)}),
    "a class": lambda c: c.post("/classes", data={"name": "A", "teacher": "B", "zone": "UTC"}),
    "a person": lambda c: c.post(f"/join/{CODES[0]}", data={"name": "B"}),
    "an import": lambda c: c.post("/progress/import", files={"file": ("w.json", EMPTY)}),
    "a measurement": lambda c: c.post("/measured/save", data={"seal": SEALS.pop()}),
}
CODES: list[str] = []


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A site that stores little for each address."""
    folder: Path = tmp_path_factory.mktemp("storage")
    settings = Settings(
        database=f"sqlite:///{folder / 'w.db'}", runs=folder / "runs", sandbox_workers=1, storage_allowed=ROOM
    )
    with Client(create_app(site=create_site(settings)), follow_redirects=False) as made:
        CODES[:] = [School(made.app.state.site).code]  # type: ignore[attr-defined]
        SEALS[:] = [seals(compare(made, text_of("h100-8-p5-one-row")))[0] for _ in range(3)]
        yield made


@pytest.fixture
def site(crowded: Client) -> Site:
    found = crowded.app.state.site  # type: ignore[attr-defined]
    assert isinstance(found, Site)
    return found


@pytest.mark.parametrize("door", DOORS)
def test_every_door_by_which_a_visitor_stores_draws_on_the_same_bytes(crowded: Client, site: Site, door: str) -> None:
    crowded.address = f"192.0.{list(DOORS).index(door)}.1"
    crowded.cookies.clear()
    whose = Payer(crowded.address)
    before = site.allowances.storage.blocked(whose, ROOM)
    DOORS[door](crowded)
    after = site.allowances.storage.blocked(whose, ROOM)
    assert before < 1e-6  # of a second: what floating point leaves
    assert after > 900 * DAY / ROOM, "it counts the bytes of a row"
    left = ROOM - after * ROOM / DAY
    assert not site.allowances.storage.wait(whose, left - 500)
    crowded.cookies.clear()
    refused = DOORS[door](crowded)
    assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)
    assert "too much was stored from your network address" in refused.text.lower()
    assert "set-cookie" not in refused.headers


def test_a_person_has_bytes_of_their_own(crowded: Client, site: Site) -> None:
    """One vandal in a lecture hall uses up those of strangers, and nobody else's."""
    grace, vandal = (aged(site, name) for name in ("Grace", "Mallory"))
    crowded.address = "198.51.100.1"
    site.allowances.storage.wait(Payer(crowded.address), ROOM)
    for cookie, expected in (("", 429), (vandal, 200), (grace, 200)):
        crowded.cookies.clear()
        crowded.cookies.set(SESSION, cookie)
        sent = {"answer": "1 s", "padding": "x" * (ROOM - 1_100)}
        assert crowded.post(f"/exercises/{RING}", data=sent).status_code == expected
    crowded.cookies.set(SESSION, vandal)
    assert crowded.post(f"/exercises/{RING}", data={"answer": "2 s"}).status_code == 429


def test_new_persons_and_strangers_of_an_address_have_a_quarter_more_than_its_bytes(
    crowded: Client, site: Site
) -> None:
    crowded.address = "198.51.100.2"
    statuses = []
    for number in range(12):
        crowded.cookies.clear()
        crowded.cookies.set(SESSION, School(site).member(f"Mallory {number}")[1])
        sent = {"answer": "1 s", "padding": "x" * (ROOM // 8 - 1_100)}
        statuses.append(crowded.post(f"/exercises/{RING}", data=sent).status_code)
    assert statuses == [200] * 10 + [429] * 2


def aged(site: Site, name: str) -> str:
    """The cookie of a student who joined ten minutes ago."""
    person, cookie, _ = School(site).member(name)
    with open_writing_session(site.engine) as session:
        row = session.get_one(PersonRow, person.person)
        row.made -= timedelta(minutes=10)
        session.commit()
    return cookie


def test_addresses_of_one_ipv6_network_have_the_same_bytes(crowded: Client, site: Site) -> None:
    site.allowances.storage.wait(Payer("2001:db8:1:2::"), ROOM)
    for address, expected in (("2001:db8:1:2:ffff::9", 429), ("2001:db8:1:3::1", 200)):
        crowded.address = address
        crowded.cookies.clear()
        sent = crowded.post(f"/exercises/{RING}", data={"answer": "1 s"})
        assert sent.status_code == expected
