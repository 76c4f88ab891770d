from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.server.db.migrations import migrate
from app.server.db.session import connect


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'wallclock.db'}"


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    migrate(database)
    made = connect(database)
    yield made
    made.dispose()


@pytest.fixture
def impatient(engine: Engine, database: str) -> Iterator[Engine]:
    """For a test that waits for a lock on purpose; on a busy machine others wait a little, too."""
    made = connect(database, patience=0.2)
    yield made
    made.dispose()
