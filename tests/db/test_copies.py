"""Copies from before a change: they have what was deleted since, and are removed after a while."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

import pytest

from app.server.aside import run_beside
from app.server.db.migrations import LIFE, copy_beside, last_copy_expires, remove_expired, remove_expired_copies
from app.server.db.tables import now
from tests.waiting import until


@pytest.fixture
def database(tmp_path: Path) -> str:
    (tmp_path / "w.db").touch()
    return f"sqlite:///{tmp_path / 'w.db'}"


def aged(copy: Path | None, days: float) -> Path:
    assert copy
    at = (now() - timedelta(days=days)).timestamp()
    os.utime(copy, (at, at))
    return copy


def test_a_copy_is_removed_when_its_time_is_over_and_nothing_else_is(database: str, tmp_path: Path) -> None:
    old, new = (copy_beside(database, why) for why in ("e41c7a95d2f0", "restore-20260301T000000"))
    aged(old, 31)
    assert aged(new, 29).exists()
    others = [tmp_path / name for name in ("w.db.before-1.9.partial", "v.db.before-1", "w.dbx", "backup.db")]
    for other in others:
        other.touch()
        aged(other, 90)
    elsewhere = tmp_path / "w.db.before-link"
    elsewhere.symlink_to(others[0])
    remove_expired_copies(database, now())
    assert {path.name for path in tmp_path.iterdir()} == {
        "w.db",
        "w.db.before-restore-20260301T000000",
        elsewhere.name,
        *(one.name for one in others),
    }
    until = last_copy_expires(database)
    assert until
    assert abs(until - now() - (LIFE - timedelta(days=29))) < timedelta(minutes=5)


def test_where_there_is_no_copy_nothing_expires(database: str) -> None:
    for one in (database, "sqlite:///gone/w.db", "postgresql+psycopg://localhost/w"):
        remove_expired_copies(one, now())
        assert last_copy_expires(one) is None


def test_a_server_looks_when_it_starts(database: str) -> None:
    copy = aged(copy_beside(database, "1"), 31)

    async def serve() -> None:
        async with run_beside(remove_expired(database)):
            await until(lambda: not copy.exists())

    asyncio.run(serve())
    assert not copy.exists()
