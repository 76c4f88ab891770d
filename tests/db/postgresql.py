"""A private PostgreSQL server, if PostgreSQL is installed."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_USER = "postgres"


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; None if there is none."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def is_possible() -> bool:
    """Whether PostgreSQL is installed; as root, it needs a user of its own to run as."""
    return programs() is not None and (os.geteuid() != 0 or _has_user())


def _has_user() -> bool:
    return shutil.which("setpriv") is not None and _USER in {one.pw_name for one in pwd.getpwall()}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server of one database, on a private socket in *folder*."""

    folder: Path

    @property
    def url(self) -> str:
        """The URL of its database."""
        return f"postgresql+psycopg://wallclock@/postgres?host={self.folder}"

    def make(self) -> None:
        """Create its files."""
        self._run("initdb", "-U", "wallclock", "-A", "trust", "-E", "UTF8")

    def start(self) -> None:
        """Start it; it takes connections when this returns."""
        options = f"-c listen_addresses='' -k {self.folder} -c fsync=off"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Stop it as a crash does."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def crash(self) -> None:
        """Kill one of its processes: it ends all others, and recovers."""
        children = f"/proc/{self._postmaster}/task/{self._postmaster}/children"
        os.kill(int(Path(children).read_text().split()[0]), signal.SIGKILL)

    @contextmanager
    def stuck(self) -> Iterator[None]:
        """In this block, it accepts connections, and says nothing."""
        os.kill(self._postmaster, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._postmaster, signal.SIGCONT)

    @property
    def _postmaster(self) -> int:
        return int((self.folder / "data/postmaster.pid").read_text().split()[0])

    def _run(self, program: str, *options: str) -> None:
        binaries = programs()
        assert binaries is not None
        # The server refuses to run as root.
        as_owner = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--init-groups"]
        owner = as_owner if os.geteuid() == 0 else []
        command = [*owner, str(binaries / program), "-D", str(self.folder / "data"), *options]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder)


@contextmanager
def running() -> Iterator[Cluster]:
    """A server that has been started."""
    folder = Path(tempfile.mkdtemp(prefix="wallclock-"))  # short: a socket's path may not be long
    if os.geteuid() == 0:
        shutil.chown(folder, _USER, _USER)
    made = Cluster(folder)
    made.make()
    made.start()
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)


@contextmanager
def cluster() -> Iterator[str]:
    """The URL of an empty database, on a private socket."""
    with running() as made:
        yield made.url
