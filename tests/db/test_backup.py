"""Backups, restores and moves between databases; on PostgreSQL too, see test_postgresql.py."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from app.__main__ import main
from app.classes.people.classes import create_class
from app.core.errors import InputError, UnavailableError
from app.server.db.backup import TableContent, backup, contents, move, restore, snapshot
from app.server.db.learner_cookie import create_token, new_learner, revoke_token, sign, signing_secret, unsign
from app.server.db.migrations import alembic_configuration, exclusive, migrate, probe
from app.server.db.session import connect, open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import Prediction, Reveal
from app.server.db.writer import store
from tests.db.test_rows import attempt

LATE = datetime(2026, 3, 1, 23, 59, 59, 999_999, tzinfo=UTC)
OLDER = "a4e09d17c3b8"  # a migration that many others follow


def fill(database: str) -> None:
    """Rows of several tables, with values that a careless copy would change."""
    migrate(database)
    engine = connect(database)
    signing_secret(engine)
    texts = ("70 ms", "", " 7\t×\n10⁻² ", '{"a": "\\u0000"}', "😀" * 10)
    rows = [attempt(answer=text, at=LATE, seconds=0.1 + 0.2, score=1 / 3) for text in texts]
    store(engine, rows * 210)
    store(engine, [Reveal(learner="l", exercise="a/b", seed=2**53 - 1, number=0)])
    store(engine, [Prediction(learner="l", exercise="a/b", seed=7, answer='{"t": 1}')])
    with open_session(engine) as session:
        create_token(session, "marie")
        create_token(session, "gone")
        revoke_token(session, "gone")
        create_class(session, "secret", "Systems", "Europe/Berlin")
        session.commit()
    engine.dispose()


def content_of(database: str) -> list[TableContent]:
    with snapshot(database) as connection:
        return contents(connection)


@pytest.fixture
def filled(database: str) -> str:
    fill(database)
    return database


@pytest.fixture
def other(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'other' / 'other.db'}"


def test_a_move_copies_every_row_to_an_empty_database(filled: str, other: str) -> None:
    moved = move(filled, other, "")
    assert content_of(filled) == content_of(other)
    assert moved == sum(content.rows for content in content_of(filled)) > 1_050
    with pytest.raises(InputError, match="rows already; --replace deletes them"):
        move(filled, other, "")
    engine = connect(other)
    store(engine, [attempt(answer="one more")])
    engine.dispose()
    assert move(filled, other, "", replace=True) == moved
    assert content_of(filled) == content_of(other)


def test_a_move_is_a_command(
    filled: str, other: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WALLCLOCK_DATABASE", filled)
    assert main(["move", other]) == 0
    assert "rows are in both databases" in capsys.readouterr().err
    assert main(["move", other]) == 1
    assert main(["move", other, "--replace"]) == 0


def test_a_digest_sees_one_changed_digit_and_no_order(filled: str, other: str) -> None:
    move(filled, other, "")
    with closing(sqlite3.connect(other.removeprefix("sqlite:///"))) as rows:
        rows.execute("UPDATE attempt SET score = score + 1e-16 WHERE id = 7")
        rows.commit()
    differing = [a.table for a, b in zip(content_of(filled), content_of(other), strict=True) if a != b]
    assert differing == ["attempt"]


def test_what_cannot_be_moved_says_so_and_changes_nothing(filled: str, other: str) -> None:
    with pytest.raises(InputError, match="already"):
        move(filled, filled, "")
    with pytest.raises(InputError, match="sqlite or postgresql"):
        move(filled, "mysql://localhost/x", "")
    engine = connect(filled)
    with engine.connect() as using, open_session(engine):
        using.exec_driver_sql("SELECT 1 FROM attempt")
        with pytest.raises(UnavailableError, match="a server is using the database"):
            move(filled, other, "")
    engine.dispose()
    assert move(filled, other, "")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another machine, with a database and a folder of runs of its own."""
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{tmp_path / 'elsewhere' / 'w.db'}")
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "elsewhere" / "runs"))
    return tmp_path / "elsewhere"


def test_the_drill_a_machine_is_lost_and_the_backup_brings_everything_back(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    run, copy = tmp_path / "runs" / "20260301-ring", tmp_path / "copy.db"
    run.mkdir(parents=True)
    (run / "job.json").write_text("{}")
    (run / "rank-0.log").write_bytes(os.urandom(1_000))
    (run / "link").symlink_to("/etc/hostname")
    monkeypatch.setenv("WALLCLOCK_DATABASE", filled)
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    engine = connect(filled)
    learner = new_learner()
    cookie = sign(learner, signing_secret(engine))
    assert main(["backup", str(copy)]) == 0  # while it is in use
    engine.dispose()
    expected = content_of(filled)

    folder: Path = request.getfixturevalue("elsewhere")
    copy.chmod(0o400)
    assert main(["restore", str(copy)]) == 0
    there = f"sqlite:///{folder / 'w.db'}"
    assert content_of(there) == expected
    again = folder / "runs" / run.name
    assert sorted(path.name for path in again.iterdir()) == ["job.json", "rank-0.log"]
    assert (again / "rank-0.log").read_bytes() == (run / "rank-0.log").read_bytes()
    engine = connect(there)
    assert unsign(cookie, signing_secret(engine)) == learner
    probe(engine)
    engine.dispose()


def test_a_restore_replaces_rows_only_if_told_and_copies_them_before(filled: str, other: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    backup(filled, copy)
    migrate(other)
    engine = connect(other)
    store(engine, [attempt(answer="newer")])
    engine.dispose()
    with pytest.raises(InputError, match="the database has 1 rows already; --replace"):
        restore(copy, other, "")
    restore(copy, other, "", replace=True)
    assert content_of(other) == content_of(filled)
    (before,) = (tmp_path / "other").glob("*.before-restore-*")
    with closing(sqlite3.connect(before)) as kept:
        assert kept.execute("SELECT answer FROM attempt").fetchall() == [("newer",)]


def test_a_restore_needs_the_secret_that_the_backup_was_made_with(database: str, other: str, tmp_path: Path) -> None:
    migrate(database)
    engine = connect(database)
    signing_secret(engine, "given in the settings")
    engine.dispose()
    backup(database, tmp_path / "copy.db")
    with pytest.raises(UnavailableError, match="not set here"):
        restore(tmp_path / "copy.db", other, "")
    with pytest.raises(UnavailableError, match="is not the secret"):
        restore(tmp_path / "copy.db", other, "another secret, as long")
    assert restore(tmp_path / "copy.db", other, "given in the settings") == 1
    assert restore(tmp_path / "copy.db", other, "", replace=True, sign_out=True) == 0


def test_a_file_that_is_no_backup_is_refused_before_anything_is_changed(
    filled: str, other: str, tmp_path: Path
) -> None:
    broken, newer, damaged = (tmp_path / name for name in ("broken", "newer", "damaged"))
    broken.write_text("-- PostgreSQL database dump")
    for file in (newer, damaged):
        backup(filled, file)
    with closing(sqlite3.connect(newer)) as rows:
        rows.execute("UPDATE alembic_version SET version_num = 'from-the-future'")
        rows.commit()
    with damaged.open("r+b") as file_:
        file_.seek(40_000)
        file_.write(b"\xff" * 30_000)
    for file, error, says in (
        (tmp_path / "none", InputError, "does not exist"),
        (broken, InputError, "is not a backup of Wallclock"),
        (newer, UnavailableError, "newer Wallclock"),
        (damaged, UnavailableError, "damaged|malformed"),
    ):
        with pytest.raises(error, match=says):
            restore(file, other, "")
    assert not Path(other.removeprefix("sqlite:///")).exists()


def test_an_unsafe_name_in_a_backup_is_refused(filled: str, tmp_path: Path, elsewhere: Path) -> None:
    backup(filled, tmp_path / "copy.db")
    with closing(sqlite3.connect(tmp_path / "copy.db")) as rows:
        rows.execute("CREATE TABLE sqlar(name, mode, mtime, sz, data)")
        rows.execute("INSERT INTO sqlar VALUES ('../../evil', 0, 0, 1, x'41')")
        rows.commit()
    assert main(["restore", str(tmp_path / "copy.db")]) == 1
    assert not (tmp_path / "evil").exists()
    assert not elsewhere.joinpath("runs").exists()


def downgrade(connection: Connection) -> None:
    configuration = alembic_configuration()
    configuration.attributes["connection"] = connection
    command.downgrade(configuration, OLDER)


def test_a_database_is_copied_before_it_is_migrated(
    filled: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with exclusive(filled) as connection:
        downgrade(connection)
    migrate(filled)
    (copy,) = tmp_path.glob("wallclock.db.before-*")
    assert str(copy) in caplog.text
    with closing(sqlite3.connect(copy)) as rows:
        assert version_of(copy) == OLDER
        assert rows.execute("SELECT count(*) FROM attempt").fetchone() == (1_050,)
    restored = f"sqlite:///{tmp_path / 'restored.db'}"
    restore(copy, restored, "")  # which migrates it
    engine = connect(restored)
    with open_session(engine) as session:
        assert len(StoredRecords(session, "l").latest_attempts(10)) == 10
    engine.dispose()


def test_without_room_for_a_copy_nothing_is_migrated(filled: str, tmp_path: Path) -> None:
    with exclusive(filled) as connection:
        downgrade(connection)
    (tmp_path / f"wallclock.db.before-{head()}").mkdir()  # a file cannot be put there
    with pytest.raises(UnavailableError, match="nothing was changed"):
        migrate(filled)
    assert version_of(tmp_path / "wallclock.db") == OLDER


def head() -> str:
    (found,) = ScriptDirectory.from_config(alembic_configuration()).get_heads()
    return found


def version_of(file: Path) -> str:
    with closing(sqlite3.connect(file)) as rows:
        (version,) = rows.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(version)


def test_a_server_goes_on_while_a_newer_one_has_migrated(filled: str) -> None:
    engine = connect(filled)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'from-the-future'")
    probe(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{OLDER}'")
    with pytest.raises(UnavailableError, match="lacks tables"):
        probe(engine)
    engine.dispose()
