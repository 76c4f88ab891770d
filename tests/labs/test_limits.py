"""Memory and disk that really end; as root, where the system lets one set such limits."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from app.core.errors import UnavailableError
from app.labs.launch.local import LocalLauncher
from app.labs.results.analysis import report_of
from tests.labs.conftest import Faulty, pids_of
from tests.labs.test_running import ended, gone

pytestmark = [pytest.mark.slow(15), pytest.mark.needs("torch")]

_MEMORY = 500 * 2**20
_ROOTS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))  # of both versions


@pytest.fixture
def little_memory() -> Iterator[Path]:
    """A group of processes that may have little memory together."""
    for root in _ROOTS:
        group = root / f"wallclock-test-{os.getpid()}"
        with suppress(OSError):
            group.mkdir()
            limits = [group / name for name in ("memory.limit_in_bytes", "memory.max")]
            found = [limit for limit in limits if limit.exists()]
            if found:
                found[0].write_text(str(_MEMORY))
                yield group
                group.rmdir()
                return
            group.rmdir()
    pytest.skip("no group of processes can be given a limit here")


@pytest.fixture
def little_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("no small disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_rank_that_eats_all_memory_is_ended_alone(little_memory: Path, faulty: Faulty, tmp_path: Path) -> None:
    with closing(LocalLauncher(tmp_path / "runs")) as runner:
        runner.warm()
        assert runner._zygote
        (little_memory / "cgroup.procs").write_text(str(runner._zygote.pid))
        run = ended(runner.start(faulty("hungry", seconds=60)))
        report = report_of(run)
        assert (report.state, report.cause) == ("failed", "rank 1 was killed by SIGKILL; did it run out of memory?")
        assert gone(pids_of(run.folder))
        assert report_of(ended(runner.start(faulty("nothing")))).state == "done"


def test_a_disk_that_fills_up_ends_the_run_and_says_so(little_disk: Path, faulty: Faulty) -> None:
    with closing(LocalLauncher(little_disk)) as runner:
        runner.warm()
        run = ended(runner.start(faulty("talks")))
        report = report_of(run)
        assert report.state in ("failed", "lost")
        full = ("No space left", "the disk that stores runs is full")
        assert any(words in report.cause for words in full), report.cause
        (little_disk / "filler").write_bytes(b"")
        with suppress(OSError):
            (little_disk / "filler").write_bytes(b"x" * 65536)
        with pytest.raises(UnavailableError, match="cannot be stored: .*No space left"):
            runner.start(faulty("nothing"))
        for path in [*run.folder.glob("*"), little_disk / "filler"]:
            path.unlink()
        assert report_of(ended(runner.start(faulty("nothing")))).state == "done"
