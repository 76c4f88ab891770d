import json
import resource
import shutil
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.__main__ import main
from app.commands import doctor
from app.commands.doctor import (
    checked_course,
    checked_database,
    checked_extras,
    checked_folders,
    checked_port,
    checked_sandbox,
    checked_site,
)
from app.server.config import Settings
from app.server.db.migrations import migrate

Capture = pytest.CaptureFixture[str]
Set = Callable[..., Settings]


@pytest.fixture
def made(tmp_path: Path) -> Set:
    """Settings whose folders are all in a folder of the test."""

    def made(**changed: object) -> Settings:
        values = {"database": f"sqlite:///{tmp_path / 'w.db'}", "cache": tmp_path / "cache", "runs": tmp_path / "runs"}
        return Settings.model_validate(values | changed)

    return made


def test_doctor_prints_a_line_for_each_check_and_exits_with_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{tmp_path / 'w.db'}")
    monkeypatch.setenv("WALLCLOCK_CACHE", str(tmp_path))
    monkeypatch.setenv("WALLCLOCK_PORT", "0")
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} <= {"ok", "note"}
    assert any(line.startswith("ok       course: ") and " chapters" in line for line in lines)
    assert any("sandbox: not built yet" in line for line in lines)
    assert list(tmp_path.iterdir()) == []  # it only looked


def test_a_wrong_setting_is_named_and_is_json_too(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("WALLCLOCK_DATABSE", "sqlite:///x")
    assert main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"]
    last = found["checks"][-1]
    assert last["state"] == "missing"
    assert "did you mean 'WALLCLOCK_DATABASE'" in last["says"]
    assert last["cure"]


def test_a_database_that_would_be_migrated_is_not_touched(tmp_path: Path, made: Set) -> None:
    settings = made()
    assert "does not exist yet" in checked_database(settings).says
    migrate(settings.database)
    assert checked_database(settings).state == "ok"
    with closing(sqlite3.connect(tmp_path / "w.db")) as database, database:
        database.execute("update alembic_version set version_num = '7ec20991a909'")
    found = checked_database(settings)
    assert (found.state, "migration" in found.says) == ("note", True)
    with closing(sqlite3.connect(tmp_path / "w.db")) as database, database:
        assert database.execute("select * from alembic_version").fetchall() == [("7ec20991a909",)]
        database.execute("update alembic_version set version_num = 'of tomorrow'")
    found = checked_database(settings)
    assert (found.state, "newer Wallclock" in found.says) == ("missing", True)


def test_a_folder_that_cannot_be_used_is_named_with_its_setting(tmp_path: Path, made: Set) -> None:
    (tmp_path / "cache").write_text("not a folder")
    found = {check.name: check for check in checked_folders(made())}
    assert found["cache"].state == "missing"
    assert "WALLCLOCK_CACHE" in found["cache"].cure
    assert found["runs"].state == "ok"


def test_what_the_settings_ask_for_must_be_installed(made: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda _: None)
    bare = {check.name: check.state for check in checked_extras(made())}
    assert set(bare.values()) == {"note"}
    asked = made(database="postgresql+psycopg://u@h/d", oidc="Uni=https://idp.example,id,secret")
    found = {check.name: check for check in checked_extras(asked)}
    assert (found["postgres"].state, found["people"].state) == ("missing", "missing")
    assert found["postgres"].cure == "pip install 'wallclock[postgres]'"
    monkeypatch.setattr(doctor, "find_spec", lambda name: name)
    assert {check.name: check.state for check in checked_extras(asked)} == dict.fromkeys(bare, "ok")


def test_a_port_in_use_is_a_note(made: Set) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = checked_port(made(port=taken.getsockname()[1]))
    assert (found.state, "in use" in found.says) == ("note", True)


def test_problems_of_the_course_have_a_file_a_line_and_a_cure(tmp_path: Path, made: Set) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "one.yaml").write_text("kind: numerical\n")
    found = list(checked_course(made(exercises=str(tmp_path))))
    assert {check.state for check in found} == {"missing"}
    assert any("one.yaml:1: kind: must be one of" in check.says for check in found)


def test_a_sandbox_that_is_built_runs_a_program(made: Set) -> None:
    found = checked_sandbox(Settings(database=made().database))
    assert (found.state, "a program ran" in found.says) == ("ok", True)


def test_the_address_and_slurm_are_looked_for_where_the_settings_name_them(
    made: Set, monkeypatch: pytest.MonkeyPatch
) -> None:
    (none,) = checked_site(made())
    assert (none.name, none.state) == ("address", "note")
    (there,) = checked_site(made(url="https://x.example"))
    assert (there.state, there.says) == ("ok", "https://x.example")
    for found, state in ((None, "missing"), ("/usr/bin/sbatch", "ok")):
        monkeypatch.setattr(shutil, "which", lambda _, found=found: found)
        *_, slurm = checked_site(made(lab_launcher="slurm"))
        assert (slurm.name, slurm.state) == ("slurm", state)


def test_little_room_and_few_open_files_are_notes(made: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")
    for free, state in ((doctor._SPACE - 1, "note"), (doctor._SPACE, "ok")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=free))
        assert {check.state for check in checked_folders(made())} == {state}
    for hard, state in ((doctor._FILES - 1, "note"), (doctor._FILES, "ok"), (resource.RLIM_INFINITY, "ok")):
        monkeypatch.setattr(resource, "getrlimit", lambda _, hard=hard: (hard, hard))
        assert checked_port(made(port=0)).state == state


def test_more_problems_of_the_course_than_five_are_counted(tmp_path: Path, made: Set) -> None:
    for count, shown in ((5, 5), (6, 6), (7, 6)):
        folder = tmp_path / str(count) / "mine"
        folder.mkdir(parents=True)
        for number in range(count - 1):  # and the chapter has no file of its own
            (folder / f"e{number}.yaml").write_text("kind: numerical\n")
        found = list(checked_course(made(exercises=str(folder.parent))))
        assert len(found) == shown
        assert ("more problems" in found[-1].says) is (count > 5)
