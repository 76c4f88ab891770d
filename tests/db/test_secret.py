"""The secret is stored with the data; on PostgreSQL too, see test_postgresql.py."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete, select
from sqlmodel import col

from app.core.errors import UnavailableError
from app.main import create_site
from app.server.config import Settings
from app.server.db.backup import backup
from app.server.db.learner_cookie import new_learner, sign, signing_secret, unsign
from app.server.db.session import connect
from app.server.db.tables import SecretRow

GIVEN = "given by the operator"


def forget(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(delete(SecretRow))


def test_servers_that_start_at_once_agree_on_one_secret(engine: Engine) -> None:
    forget(engine)
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(lambda _: signing_secret(engine), range(8)))
    assert len(secrets) == 1
    assert len(secrets.pop()) >= 32


def test_a_given_secret_is_stored_only_as_a_digest(engine: Engine) -> None:
    forget(engine)
    assert signing_secret(engine, GIVEN) == GIVEN
    with engine.connect() as connection:
        assert GIVEN not in str(connection.execute(select(SecretRow)).all())


def test_servers_that_would_sign_differently_are_refused(engine: Engine) -> None:
    forget(engine)
    signing_secret(engine, GIVEN)
    with pytest.raises(UnavailableError, match="is not the secret"):
        signing_secret(engine, "given by someone else")
    with pytest.raises(UnavailableError, match="not set here"):
        signing_secret(engine)
    forget(engine)
    made = signing_secret(engine)
    with pytest.raises(UnavailableError, match="is not the secret"):
        signing_secret(engine, GIVEN)
    assert signing_secret(engine, made) == made


def test_a_backup_restored_elsewhere_keeps_every_learner(tmp_path: Path) -> None:
    here = create_site(Settings(database=f"sqlite:///{tmp_path / 'here.db'}"))
    learner = new_learner()
    cookie = sign(learner, here.secret)
    (tmp_path / "elsewhere").mkdir()
    backup(here.settings.database, tmp_path / "elsewhere" / "copy.db")
    there = create_site(Settings(database=f"sqlite:///{tmp_path / 'elsewhere' / 'copy.db'}"))
    assert unsign(cookie, there.secret) == learner
    here.engine.dispose()
    there.engine.dispose()


def test_the_file_of_an_earlier_version_is_imported(engine: Engine, database: str) -> None:
    path = Path(database.removeprefix("sqlite:///") + ".secret")
    path.write_text("x", encoding="ascii")
    with pytest.raises(UnavailableError, match="damaged"):
        signing_secret(engine)
    path.write_text("the secret of an earlier version\n", encoding="ascii")
    assert signing_secret(engine) == "the secret of an earlier version"
    path.unlink()
    assert signing_secret(engine) == "the secret of an earlier version"


def test_a_missing_database_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    engine = connect(f"sqlite:///{tmp_path / 'w.db'}")
    with pytest.raises(UnavailableError, match="lacks tables"):
        signing_secret(engine)
    engine.dispose()


def test_there_is_only_one_row(engine: Engine) -> None:
    signing_secret(engine)
    with engine.connect() as connection:
        assert connection.execute(select(col(SecretRow.id))).all() == [(1,)]
