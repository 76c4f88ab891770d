"""What happens when the disk, the database or the sandbox fails under the site."""

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.core.errors import ContentError
from app.course.sandbox.component import component_key
from app.main import create_app
from app.server.config import Settings

NUMERIC = "/exercises/collectives/ring-all-reduce-time"
FUNCTION = "/exercises/collectives/write-ring-time"


def test_a_locked_database_answers_503_and_then_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.db.session.PATIENCE", 0.2)
    database = tmp_path / "w.db"
    app = create_app(Settings(database=f"sqlite:///{database}", sandbox_workers=1))
    with TestClient(app) as client, ExitStack() as stack:
        with app.state.site.engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 200  # ms
        lock = stack.enter_context(closing(sqlite3.connect(database, isolation_level=None)))
        lock.execute("BEGIN EXCLUSIVE")
        refused = client.post(NUMERIC, data={"answer": "70 ms"})
        assert refused.status_code == 503
        assert "locked" in refused.text
        assert "Your answer is still here" in refused.text
        assert 'value="70 ms"' in refused.text
        health = client.get("/healthz")
        assert health.status_code == 503
        assert "locked" in health.json()["detail"]
        lock.execute("ROLLBACK")
        assert "Right" in client.post(NUMERIC, data={"answer": "70 ms"}).text
        assert client.get("/healthz").status_code == 200


def test_a_full_database_answers_503_and_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    app = create_app(Settings(database=f"sqlite:///{tmp_path / 'w.db'}", sandbox_workers=1))
    engine = app.state.site.engine
    with TestClient(app) as client:
        assert "Right" in client.post(NUMERIC, data={"answer": "70 ms"}).text
        from sqlalchemy import event

        def small(connection: sqlite3.Connection, _: object) -> None:
            connection.execute("PRAGMA max_page_count = 1")

        engine.dispose()
        event.listen(engine, "connect", small)
        kept, status = 1, 200
        for _ in range(400):
            status = client.post(NUMERIC, data={"answer": "70 ms" + " " * 190}).status_code
            if status != 200:
                break
            kept += 1
        assert status == 503
        event.remove(engine, "connect", small)
        engine.dispose()
        assert len(client.get("/progress/export").json()["attempts"]) == kept


def test_without_a_sandbox_functions_explain_and_the_rest_works(tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "sandbox" / component_key()
    cache.mkdir(parents=True)
    (cache / "guest.cwasm").write_bytes(b"damaged")
    (cache / "guest.cwasm").chmod(0o600)
    settings = Settings(database=f"sqlite:///{tmp_path / 'w.db'}", cache=tmp_path / "cache", sandbox_workers=1)
    with TestClient(create_app(settings)) as client:
        health = {"status": "ok", "sandbox": "starting"}
        while health["sandbox"] == "starting":
            health = client.get("/healthz").json()
        assert health == {"status": "ok", "sandbox": "off"}
        page = client.get(FUNCTION).text
        assert "Code cannot run here" in page
        assert str(tmp_path) not in page
        refused = client.post(FUNCTION, data={"answer": "def f(): pass", "action": "check"})
        assert refused.status_code == 503
        assert "Nothing here yet" in client.get("/progress").text
        assert "Right" in client.post(NUMERIC, data={"answer": "70 ms"}).text


def test_a_broken_catalog_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "more" / "chapter").mkdir(parents=True)
    (tmp_path / "more" / "chapter" / "bad.yaml").write_text("kind: numeric\n")
    settings = Settings(database=f"sqlite:///{tmp_path / 'w.db'}", exercises=(tmp_path / "more",))
    with pytest.raises(ContentError, match=r"bad\.yaml:1"):
        create_app(settings)


def test_a_fault_of_ours_shows_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(Settings(database=f"sqlite:///{tmp_path / 'w.db'}", sandbox_workers=1))

    def fail(*_: object) -> None:
        raise KeyError("secret detail")

    monkeypatch.setattr("app.site.web.home.page.read_learner_history", fail)
    monkeypatch.setattr("app.site.api.exercises.ExerciseSummary", fail)
    with TestClient(app, raise_server_exceptions=False) as client:
        page, document = client.get("/"), client.get("/api/v1/exercises")
    assert page.status_code == document.status_code == 500
    assert "secret detail" not in page.text + document.text
    assert document.headers["content-type"] == "application/problem+json"
