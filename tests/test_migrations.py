import ast
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect
from sqlmodel import col, select

from app.core.folders import ROOT
from app.course.kinds.base import common_diagnosis
from app.server.db.migrations import _heads, _revisions, alembic_configuration, exclusive, migrate
from app.server.db.session import connect, open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import AttemptRow
from app.server.db.writer import store
from tests.db.test_rows import attempt
from tests.each import each

VERSIONS = ROOT / "alembic" / "versions"


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


REMOVING = {"drop_column", "drop_constraint", "drop_table", "rename_table", "alter_column"}


def altering(text: str) -> set[str]:
    """What the upgrade in a migration's *text* calls that servers of before may not survive."""
    (upgrade,) = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "upgrade")
    called = {
        node.func.attr
        for node in ast.walk(upgrade)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    required = {
        "a required column"
        for node in ast.walk(upgrade)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".add_column")
        if "nullable=False" in ast.unparse(node) and "server_default" not in ast.unparse(node)
    }
    return (called & (REMOVING | {"execute"})) | required


@each("file", sorted(VERSIONS.glob("*.py")), ids=lambda file: file.stem)
def test_migrations_only_add(file: Path) -> None:
    """So servers of the version before go on serving while the first one restarts."""
    assert altering(file.read_text(encoding="utf-8")) == set()


@each(
    ("line", "found"),
    [
        ('op.drop_column("attempt", "answer")', {"drop_column"}),
        ('op.rename_table("attempt", "answers")', {"rename_table"}),
        ('op.execute("DELETE FROM attempt")', {"execute"}),
        ('op.add_column("a", sa.Column("b", sa.Text(), nullable=False))', {"a required column"}),
        ('op.add_column("a", sa.Column("b", sa.Text(), nullable=True))', set()),
        ('op.create_index("a", "b", ["c"])', set()),
    ],
)
def test_what_only_adds_is_told_apart(line: str, found: set[str]) -> None:
    assert altering(f"def upgrade():\n    {line}\n") == found


def test_migrating_twice_changes_nothing_and_keeps_rows(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'w.db'}"
    migrate(database)
    engine = connect(database)
    store(engine, [attempt(answer="kept")])
    migrate(database)
    with open_session(engine) as session:
        assert [row.answer for row in StoredRecords(session, "l").latest_attempts()] == ["kept"]
    engine.dispose()


def test_a_new_database_waits_for_no_names_of_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that there can be are 268,747 digests, half of the time of a start."""
    monkeypatch.setattr("hashlib.blake2s", lambda *_, **__: pytest.fail("a name"))
    migrate(f"sqlite:///{tmp_path / 'w.db'}")


def test_every_migration_can_be_undone(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'w.db'}"
    migrate(database)
    with exclusive(database) as connection:
        configuration = alembic_configuration()
        configuration.attributes["connection"] = connection
        command.downgrade(configuration, "base")
        assert inspect(connection).get_table_names() == ["alembic_version"]
    migrate(database)


# What was stored for some common mistakes before they had names, and what is said of them.
BEFORE = {
    "0fcf11d0a198": "Your number is half the right one: is a factor of 2 missing?",
    "747e1ce54311": "Your number is 8 times the right one: were bits counted as bytes? A byte is 8 bits.",
    "96c022e09ba1": "Your number is 1,000 times the right one.",
    "579df7c6573c": "The figure is right in GiB: it was computed in GiB and labeled GB. They differ by a factor of 1.074.",
    "405830cf7bc3": "Right in bytes, but a number without a unit is in GB here.",
    "c2c41bbe881f": "Your number is 1/10 of the right one: check the decimal point.",
}


def test_a_common_mistake_of_an_earlier_version_stays_readable(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'w.db'}"
    migrate(database)
    step_to(database, "b71e0c94d5a3")
    engine = connect(database)
    stored = [*BEFORE, "cc4f9172394f", None]  # an author's, and none
    store(engine, [attempt(mistake=key, learner=str(n)) for n, key in enumerate(stored)])
    migrate(database)
    assert mistakes_in(engine)[-2:] == ["cc4f9172394f", None]
    keys = [key for key in mistakes_in(engine)[:-2] if key]
    assert [common_diagnosis(key) for key in keys] == list(BEFORE.values())
    assert not set(keys) & BEFORE.keys()
    step_to(database, "b71e0c94d5a3")
    assert mistakes_in(engine) == stored
    engine.dispose()


def step_to(database: str, revision: str) -> None:
    """Take back the migrations after *revision*."""
    with exclusive(database) as connection:
        configuration = alembic_configuration()
        configuration.attributes["connection"] = connection
        command.downgrade(configuration, revision)


def mistakes_in(engine: Engine) -> list[str | None]:
    with open_session(engine) as session:
        return list(session.exec(select(AttemptRow.mistake).order_by(col(AttemptRow.id))).all())
