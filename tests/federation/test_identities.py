"""Whose identity it is."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import Engine
from sqlmodel import select

from app.classes.federation.identities import Pending, connect_identity, issuers_of, may_connect, person_of
from app.classes.people.classes import number_of
from app.server.db.migrations import migrate
from app.server.db.people import IdentityRow
from app.server.db.session import connect, open_session, open_writing_session
from app.server.db.tables import now

BROWSERS = 8


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    url = f"sqlite:///{tmp_path / 'w.db'}"
    migrate(url)
    made = connect(url)
    yield made
    made.dispose()


def test_of_several_first_sign_ins_at_once_one_person_is_made(engine: Engine) -> None:
    together = Barrier(BROWSERS)

    def first(_: int) -> int:
        together.wait()
        with open_writing_session(engine) as session:
            return number_of(person_of(session, "https://idp.example", "mina"))

    with ThreadPoolExecutor(BROWSERS) as pool:
        found = set(pool.map(first, range(BROWSERS)))
    assert len(found) == 1
    with open_session(engine) as session:
        rows = session.exec(select(IdentityRow).where(IdentityRow.subject == "mina")).all()
    assert {row.person for row in rows} == found


def test_the_same_subject_of_two_issuers_is_two_persons(engine: Engine) -> None:
    with open_session(engine) as session:
        one, other = (number_of(person_of(session, issuer, "1")) for issuer in ("https://a", "https://b"))
        assert one != other
        assert number_of(person_of(session, "https://a", "1")) == one
        assert issuers_of(session, one) == ["https://a"]


def test_an_identity_of_another_person_is_never_taken_over(engine: Engine) -> None:
    with open_session(engine) as session:
        mina, ben = (number_of(person_of(session, "https://a", name)) for name in ("mina", "ben"))
        assert not may_connect(session, "https://a", "mina", ben)  # it is not new
        assert not may_connect(session, "https://a", "new", ben)  # he has one of this issuer
        assert may_connect(session, "https://b", "new", ben)
        taken = connect_identity(session, "https://a", "mina", ben)
        assert taken is not None
        assert number_of(taken) == mina
        connected = connect_identity(session, "https://b", "ben", ben)
        assert connected is not None
        assert number_of(connected) == ben
        assert issuers_of(session, ben) == ["https://a", "https://b"]
        assert connect_identity(session, "https://b", "gone", 10**6) is None
        connected.deleted = now()
        session.commit()
        assert connect_identity(session, "https://c", "ben", ben) is None  # deleted a moment ago


def test_a_new_person_has_the_name_and_an_identity_says_whose_own_it_is(engine: Engine) -> None:
    with open_session(engine) as session:
        ada = person_of(session, "https://a", "ada", "Ada")
        assert (ada.name, person_of(session, "https://a", "ada", "Eve").name) == ("Ada", "Ada")
        for issuer, own in (("https://b", True), ("https://c", False)):
            connect_identity(session, issuer, "ada", number_of(ada), own=own)
            assert session.get_one(IdentityRow, (issuer, "ada")).own is own


def test_a_pending_identity_is_of_the_one_who_was_signed_in_for_ten_minutes() -> None:
    pending = Pending("https://a", "mina", "/progress", person=5)
    for age, right in ((0, True), (600, True), (601, False)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("time.time", lambda: 1_800_000_000)
            cookie = pending.signed("secret", 7)
            patched.setattr("time.time", lambda later=age: 1_800_000_000 + later)
            expected = Pending("https://a", "mina", "/progress", person=7)
            assert Pending.read(cookie, "secret") == (expected if right else None)
            assert Pending.read(cookie, "another") is None
