"""Record what a version leaves to the next ones: `python -m tests.upgrades.record`.

A server of the version runs, a visitor and a class use it, and the folder of the version gets

- `database.sql.gz`: the backup that its own `wallclock backup` made meanwhile, as statements;
- `progress.json.gz`: the file that the visitor exported;
- `told.json`: its settings, tokens and cookies, the grades of the class and all that it said.

`--code FOLDER` records another version, whose code is in that folder (git archive, git worktree).
"""

import argparse
import gzip
import json
import sqlite3
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from app.core.folders import ROOT
from tests.translations import untranslated
from tests.upgrades.playing import PlayedClass, play_program, play_visitor
from tests.upgrades.server import Browser, Installation, Program

FOLDER = Path(__file__).parent
SECRET = "the secret of a class long ago"
# Values of settings that have a form of their own; numbers and switches get another than the default.
SAMPLES = {
    "address": "https://wallclock.example.org",
    "host": "0.0.0.0",
    "port": "8123",
    "exercises": "/srv/exercises",
    "runs": "/srv/runs",
    "cache": "/srv/cache",
    "lab_launcher": "slurm",
    "uds": "/run/wallclock.sock",
    "slurm_partition": "gpu",
    "slurm_site": "/etc/wallclock/site.sh",
    "slurm_python": "/opt/python",
    "secret": SECRET,
    "database": "sqlite:////srv/wallclock.db",
    "proxies": "10.0.0.0/8",
}
_CHANGED = "# Exercises that judge an answer of this version differently now, and why.\n"
_SETTINGS = """
import json
from app.server.config import Settings
found = json.loads(Settings.model_construct().model_dump_json())
print(json.dumps({name: found[name] for name in Settings.model_fields}))
"""


def record(code: Path, folder: Path) -> None:
    """Play on the version in *code*, and write what it leaves into *folder*."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        database = Path(place) / "wallclock.db"
        settings = {
            "WALLCLOCK_DATABASE": f"sqlite:///{database}",
            "WALLCLOCK_RUNS": f"{place}/runs",
            "WALLCLOCK_SECRET": SECRET,
            "WALLCLOCK_ANSWERS_ALLOWED": "0",
            "WALLCLOCK_SANDBOX_WORKERS": "2",
        }
        told = _play(Installation(code, settings), database, Path(place) / "backup.db", folder)
        _write(folder / "database.sql.gz", _statements(Path(place) / "backup.db"))
    if not (folder / "changed.yaml").exists():
        (folder / "changed.yaml").write_text(_CHANGED, encoding="utf-8")
    text = json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True)
    (folder / "told.json").write_text(text + "\n", encoding="utf-8")


def _play(installation: Installation, database: Path, backup: Path, folder: Path) -> Mapping[str, object]:
    tokens = {name: installation.command("token", "create", name).strip() for name in ("grader", "gone")}
    installation.command("token", "revoke", "gone")
    told: dict[str, object] = {"settings": _settings(installation), "secret": SECRET, "tokens": tokens}
    with installation.serving() as url:
        visitor = Browser(url)
        play_visitor(installation, visitor)
        play_program(Program(url, tokens["grader"]))
        progress = visitor.get("/progress/export")
        _write(folder / "progress.json.gz", progress)
        told["visitor"] = visitor.cookies
        if installation.offers("class"):
            told["class"] = _play_class(installation, url, progress, database)
        installation.command("backup", str(backup))
    return told


def _play_class(installation: Installation, url: str, progress: str, database: Path) -> Mapping[str, object]:
    admin = installation.command("token", "create", "admin", "--scope", "admin").strip()
    played = PlayedClass(installation, url, Program(url, admin))
    played.play()
    played.carry(progress)
    played.connect(database)
    one = installation.command("token", "create", "class", "--scope", "class", "--class", str(played.number))
    return {
        "number": played.number,
        "code": played.teacher_code,
        "tokens": {"admin": admin, "class": one.strip()},
        "students": [browser.cookies for browser in played.students],
        "grades": played.grades(),
    }


def _settings(installation: Installation) -> Mapping[str, str]:
    """Each setting of that version, and a value that it takes."""
    found = json.loads(installation.evaluate(_SETTINGS))
    return {f"WALLCLOCK_{name.upper()}": SAMPLES.get(name, _as_text(value)) for name, value in found.items()}


def _as_text(value: object) -> str:
    match value:
        case bool():
            return str(not value)
        case int() | float():
            return str(value + 1)
        case list():
            return ",".join(map(str, value))
    return "" if value is None else str(value)


def _statements(database: Path) -> str:
    with closing(sqlite3.connect(database)) as rows:
        return "".join(f"{line}\n" for line in rows.iterdump())


def _write(file: Path, text: str) -> None:
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def version_of(code: Path) -> str:
    """The version of the project in the folder *code*."""
    project = tomllib.loads((code / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Record what a version leaves to the next ones.")
    parser.add_argument("--code", type=Path, default=ROOT, help="the folder of its code")
    parser.add_argument("--name", help="of the folder to write; by default, the version")
    given = parser.parse_args()
    if given.code == ROOT and (lacking := untranslated()):
        parser.error(f"{lacking} sentences have no translation: `make translations` lists them")
    record(given.code, FOLDER / (given.name or version_of(given.code)))


if __name__ == "__main__":
    main()
