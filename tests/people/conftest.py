from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from app.server.db.learner_cookie import signing_secret
from app.server.db.migrations import migrate
from app.server.db.session import connect, open_session


@pytest.fixture(scope="session")
def people_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    database = f"sqlite:///{tmp_path_factory.mktemp('people') / 'wallclock.db'}"
    migrate(database)
    made = connect(database)
    signing_secret(made)
    yield made
    made.dispose()


@pytest.fixture
def session(people_engine: Engine) -> Iterator[Session]:
    """A session whose changes are taken back at the end of the test."""
    with open_session(people_engine) as made:
        yield made
        made.rollback()
