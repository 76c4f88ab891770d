"""The checks of `wallclock doctor` that look at the machine and at what is installed."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from app.core.folders import ROOT
from app.server.config import Settings

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


def missing(name: str, says: str, cure: str) -> Check:
    """The server, or a part that the settings ask for, does not work without it."""
    return Check(name, "missing", says, cure)


def checked_python() -> Check:
    """The version of Python and of Wallclock."""
    found = sys.version_info[:3]
    shown = f"{'.'.join(map(str, found))} at {sys.executable}"
    if found < _NEEDED:
        return missing("python", shown, "install Python 3.11 or newer")
    try:
        ours = version("wallclock")
    except PackageNotFoundError:
        return missing("python", f"{shown}; Wallclock is not installed in it", "pip install wallclock")
    return ok("python", f"{shown}; Wallclock {ours}")


def checked_files() -> Check:
    """The pages, exercises and migrations that the package carries."""
    needed = ("templates/home.html", "static/app.css", "exercises", "alembic/env.py")
    lacking = [name for name in needed if not (ROOT / name).exists()]
    if lacking:
        return missing("files", f"{ROOT} lacks {', '.join(lacking)}", "install the package again, as a wheel")
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
        return missing(name, f"{around} is not a folder", cure)
    if not os.access(around, os.W_OK | os.X_OK):
        return missing(name, f"{around} cannot be written to", cure)
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
            else missing(
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
        tell = missing if asked[name] else note
        yield tell(name, says, f"pip install 'wallclock[{name}]'")
