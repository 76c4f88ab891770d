"""An upgrade that is killed, at any migration, leaves the database of before; the next start upgrades it."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.server.db.migrations import migrate
from tests.upgrades.recordings import recordings, revisions

pytestmark = pytest.mark.slow(10)

# Kills the process that upgrades when it is about to note that a migration is done.
_KILLED = """
import os, signal, sys
from sqlalchemy import Engine, event
from app.server.db.migrations import migrate

left = int(sys.argv[2])

@event.listens_for(Engine, "before_cursor_execute")
def count(connection, cursor, statement, *_):
    global left
    if statement.startswith("UPDATE alembic_version"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

migrate(sys.argv[1])
"""


def state_of(file: Path) -> tuple[str, str]:
    """The migration of the database *file*, and all that is in it."""
    with closing(sqlite3.connect(file)) as rows:
        (revision,) = rows.execute("SELECT version_num FROM alembic_version").fetchone()
        return str(revision), "\n".join(rows.iterdump())


@pytest.mark.parametrize("migrations", [1, 3, 8])
def test_an_upgrade_that_is_killed_is_done_by_the_next_start(tmp_path: Path, migrations: int) -> None:
    file, recording = tmp_path / "wallclock.db", recordings()[0]
    recording.restore(file)
    before = state_of(file)
    database = f"sqlite:///{file}"
    killed = subprocess.run([sys.executable, "-c", _KILLED, database, str(migrations)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert state_of(file) == before
    (copy,) = tmp_path.glob("wallclock.db.before-*")
    assert state_of(copy) == before
    migrate(database)
    after, _ = state_of(file)
    assert after == revisions()[-1]
    assert state_of(copy) == before
