"""`wallclock doctor`: what is there, what is missing, and the cure. It changes nothing."""

import asyncio
import json
import os
import shutil
import socket
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from app.core.errors import AppError, ContentError, UnavailableError
from app.core.folders import ROOT
from app.course.content.course import read_course
from app.course.sandbox.component import component_file
from app.course.sandbox.remote import RemotePool
from app.course.sandbox.runner import Runner
from app.server.config import Settings, setting_problems
from app.server.db.migrations import pending_migrations
from app.server.db.session import database_file

State = Literal["ok", "note", "missing"]
_NEEDED = (3, 11)
_SPACE = 500_000_000  # bytes of disk that the build of the sandbox needs, with room to spare
_FILES = 4096  # open files that a class at once needs
# What `pip install 'wallclock[...]'` adds: its modules, and what is off without them.
_EXTRAS = {
    "people": (("httpx2", "joserfc"), "sign-in with OpenID Connect and learning platforms (LTI)"),
    "postgres": (("psycopg",), "databases on PostgreSQL"),
    "lab": (("torch",), "labs: measurements on this machine"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One check: *missing* stops the server, or a part that the settings ask for."""

    name: str
    state: State
    says: str
    cure: str = ""


def ok(name: str, says: str) -> Check:
    """Nothing to do."""
    return Check(name, "ok", says)


def note(name: str, says: str, cure: str) -> Check:
    """The server works without it."""
    return Check(name, "note", says, cure)


def report_missing(name: str, says: str, cure: str) -> Check:
    """The server, or a part that the settings ask for, does not work without it."""
    return Check(name, "missing", says, cure)


def checked_python() -> Check:
    """The version of Python and of Wallclock."""
    found = sys.version_info[:3]
    shown = f"{'.'.join(map(str, found))} at {sys.executable}"
    if found < _NEEDED:
        return report_missing("python", shown, "install Python 3.11 or newer")
    try:
        ours = version("wallclock")
    except PackageNotFoundError:
        return report_missing("python", f"{shown}; Wallclock is not installed in it", "pip install wallclock")
    return ok("python", f"{shown}; Wallclock {ours}")


def checked_files() -> Check:
    """The pages, exercises and migrations that the package carries."""
    needed = ("templates/home.html", "static/app.css", "exercises", "alembic/env.py")
    lacking = [name for name in needed if not (ROOT / name).exists()]
    if lacking:
        return report_missing("files", f"{ROOT} lacks {', '.join(lacking)}", "install the package again, as a wheel")
    return ok("files", f"pages, exercises and migrations are in {ROOT}")


def checked_folders(settings: Settings) -> Iterator[Check]:
    """The folders that the server writes to."""
    for name, folder, variable in (
        ("cache", settings.cache, "WALLCLOCK_CACHE"),
        ("runs", settings.runs, "WALLCLOCK_RUNS"),
    ):
        yield _folder(name, folder, variable)


def _folder(name: str, folder: Path, variable: str) -> Check:
    around = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    cure = f"set {variable} to a folder that this user may write to"
    if not around.is_dir():
        return report_missing(name, f"{around} is not a folder", cure)
    if not os.access(around, os.W_OK | os.X_OK):
        return report_missing(name, f"{around} cannot be written to", cure)
    room = shutil.disk_usage(around).free
    if room < _SPACE:
        says = f"{folder}: {room / 1e6:,.0f} MB of disk are free"
        return note(name, says, f"free {_SPACE / 1e6:,.0f} MB")
    return ok(name, f"{folder}, {room / 1e9:,.1f} GB free")


def checked_port(settings: Settings) -> Check:
    """The address that the server listens on, and how many connections it may hold."""
    where = f"{settings.host} port {settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((settings.host, settings.port))
        except OSError as error:
            return note(
                "port",
                f"{where}: {(error.strerror or str(error)).lower()}",
                "if that is not a running Wallclock, choose another with WALLCLOCK_PORT",
            )
    return _limited(where)


def _limited(where: str) -> Check:
    if sys.platform == "win32":
        return ok("port", f"{where} is free")
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _FILES:
        cure = f"raise it to {_FILES:,}: LimitNOFILE= in systemd, ulimit -n in a shell"
        return note("port", f"{where} is free; at most {hard:,} files may be open", cure)
    return ok("port", f"{where} is free")


def checked_site(settings: Settings) -> Iterator[Check]:
    """The public address, and Slurm where labs ask for it."""
    if settings.url:
        yield ok("address", settings.url)
    else:
        says = (
            "none: link previews have no picture, learning platforms cannot connect, and browsers "
            "reach the site by an IP address or a name without a dot, or one in WALLCLOCK_HOSTS"
        )
        yield note("address", says, "set WALLCLOCK_URL to the public URL of the site")
    if settings.lab_launcher == "slurm":
        found = shutil.which("sbatch")
        yield (
            ok("slurm", f"sbatch is {found}")
            if found
            else report_missing(
                "slurm",
                "WALLCLOCK_LAB_LAUNCHER is slurm, and sbatch is not in PATH",
                "install Slurm's client, or use WALLCLOCK_LAB_LAUNCHER=local",
            )
        )


def checked_extras(settings: Settings) -> Iterator[Check]:
    """The optional packages; those that the settings ask for must be there."""
    asked = {"people": bool(settings.oidc), "postgres": settings.database.startswith("postgres"), "lab": False}
    for name, (modules, what) in _EXTRAS.items():
        lacking = [module for module in modules if find_spec(module) is None]
        if not lacking:
            yield ok(name, what)
            continue
        says = f"{what} need {' and '.join(lacking)}"
        tell = report_missing if asked[name] else note
        yield tell(name, says, f"pip install 'wallclock[{name}]'")


_SHOWN = 5  # problems of the course
_TRIAL = "def answer():\n    return 42\n"


def checked_database(settings: Settings) -> Check:
    """Whether the database can be used, and what the next start would change in it."""
    try:
        file = database_file(settings.database)
        if file is not None and not file.exists():
            return ok("database", f"{file} does not exist yet; the first start creates it")
        migrations = pending_migrations(settings.database)
    except UnavailableError as error:
        cause = f" ({' '.join(error.cause.split())})" if error.cause else ""
        return report_missing("database", f"{error}{cause}", "")
    except AppError as error:
        return report_missing("database", str(error), "")
    where = str(file) if file else "PostgreSQL"
    if migrations:
        count = f"{migrations} migration{'s' if migrations > 1 else ''}"
        return note("database", f"{where}: the next start applies {count}", "back it up first")
    return ok("database", where)


def checked_course(settings: Settings) -> Iterator[Check]:
    """The chapters and exercises, with every problem of their files."""
    try:
        catalog = read_course(settings, keep=False)
    except ContentError as error:
        for problem in error.problems[:_SHOWN]:
            where = f"{problem.path}:{problem.line}"
            yield report_missing("course", f"{where}: {problem.says}", problem.cure)
        if len(error.problems) > _SHOWN:
            says = f"{len(error.problems) - _SHOWN} more problems"
            yield report_missing("course", says, "wallclock lint lists them")
        return
    except AppError as error:
        yield report_missing("course", str(error), "")
        return
    says = f"{len(catalog.exercises)} exercises in {len(catalog.topics)} chapters"
    yield ok("course", says)


def checked_sandbox(settings: Settings) -> Check:
    """Whether programs of learners run; a sandbox that is not built yet is not built here."""
    if not settings.sandbox_at and not component_file(settings.cache).exists():
        says = "not built yet: the first start builds it, in about half a minute"
        return note("sandbox", says, "nothing to do; only programs wait for it")
    try:
        return asyncio.run(_tried(settings.model_copy(update={"sandbox_workers": 1})))
    except AppError as error:
        return report_missing("sandbox", str(error), "")


async def _tried(settings: Settings) -> Check:
    runner = Runner(settings)
    await runner.start()
    try:
        health = await runner.ready()
        if health.state != "ready":
            return report_missing("sandbox", health.cause or health.says, "")
        pool = runner.pool
        servers = pool.servers if isinstance(pool, RemotePool) else {}
        absent = [one.cause or one.says for one in servers.values() if one.state != "ready"]
        if absent:
            return report_missing("sandbox", "; ".join(absent), "")
        ran = await runner.run(_TRIAL, "answer", [[]])
    finally:
        await runner.close()
    where = f" at {' or '.join(servers)}" if servers else ""
    return ok("sandbox", f"a program ran{where} in {ran.seconds * 1000:.0f} ms of processor time")


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock doctor`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Print every check; 1 if something is missing."""
    found = []
    for check in checks():
        found.append(check)
        if not arguments.json:
            cure = f"; {check.cure}" if check.cure else ""
            sys.stdout.write(f"{check.state:<8} {check.name}: {check.says}{cure}\n")
            sys.stdout.flush()
    healthy = all(check.state != "missing" for check in found)
    if arguments.json:
        rows = {"ok": healthy, "checks": [asdict(check) for check in found]}
        sys.stdout.write(f"{json.dumps(rows, ensure_ascii=False, indent=1)}\n")
    return 0 if healthy else 1


def checks() -> Iterator[Check]:
    """The result of each check, the quick ones first."""
    yield checked_python()
    yield checked_files()
    try:
        settings = Settings()
    except ValidationError as error:
        for says in setting_problems(error):
            yield report_missing("settings", says, "correct it or unset it; /docs/settings lists every setting")
        return  # everything else depends on them
    changed = sorted(name for name in settings.model_fields_set if name in type(settings).model_fields)
    yield ok("settings", f"from the environment: {', '.join(changed)}" if changed else "defaults")
    yield from checked_folders(settings)
    yield checked_port(settings)
    yield from checked_site(settings)
    yield from checked_extras(settings)
    yield checked_database(settings)
    yield from checked_course(settings)
    yield checked_sandbox(settings)
