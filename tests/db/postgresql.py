"""A private PostgreSQL server, if PostgreSQL is installed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_USER = "postgres"


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; None if there is none."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


@contextmanager
def cluster() -> Iterator[str]:
    """The URL of an empty database, on a private socket."""
    folder = Path(tempfile.mkdtemp(prefix="wallclock-"))  # short: a socket's path may not be long
    binaries = programs()
    assert binaries is not None
    # The server refuses to run as root.
    as_owner = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--init-groups"]
    owner = as_owner if os.geteuid() == 0 else []
    if owner:
        shutil.chown(folder, _USER, _USER)
    data, options = folder / "data", f"-c listen_addresses='' -k {folder} -c fsync=off"

    def run(*command: str) -> None:
        subprocess.run([*owner, *command], check=True, capture_output=True, cwd=folder)

    run(str(binaries / "initdb"), "-D", str(data), "-U", "wallclock", "-A", "trust", "-E", "UTF8")
    control = [str(binaries / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log")]
    run(*control, "-o", options, "start")
    try:
        yield f"postgresql+psycopg://wallclock@/postgres?host={folder}"
    finally:
        run(*control, "-m", "immediate", "stop")
        shutil.rmtree(folder)
