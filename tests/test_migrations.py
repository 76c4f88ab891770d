from pathlib import Path

from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from app.db.migrations import (
    _heads,
    _revisions,
    alembic_configuration,
    exclusive,
    migrate,
)
from app.db.queries import latest_attempts
from app.db.session import connect, open_session
from app.db.writer import store
from tests.db.test_rows import attempt


def test_migrations_make_the_tables_that_the_code_describes(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'w.db'}"
    migrate(database)
    with exclusive(database) as connection:
        configuration = alembic_configuration()
        configuration.attributes["connection"] = connection
        command.check(configuration)  # raises where a table differs


def test_the_migrations_are_those_that_alembic_finds() -> None:
    scripts = ScriptDirectory.from_config(alembic_configuration())
    assert _heads() == set(scripts.get_heads())
    assert _revisions("revision") == {one.revision for one in scripts.walk_revisions()}


def test_migrating_twice_changes_nothing_and_keeps_rows(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'w.db'}"
    migrate(database)
    engine = connect(database)
    store(engine, [attempt(answer="kept")])
    migrate(database)
    with open_session(engine) as session:
        assert [row.answer for row in latest_attempts(session, "l")] == ["kept"]
    engine.dispose()


def test_every_migration_can_be_undone(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'w.db'}"
    migrate(database)
    with exclusive(database) as connection:
        configuration = alembic_configuration()
        configuration.attributes["connection"] = connection
        command.downgrade(configuration, "base")
        assert inspect(connection).get_table_names() == ["alembic_version"]
    migrate(database)
