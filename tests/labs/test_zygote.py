"""The process that has torch: it never touches a GPU, is ready early, and says why it cannot start."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import UnavailableError
from app.core.folders import ROOT
from app.labs.launch.base import write_run
from app.labs.launch.local import INSTALL, LocalLauncher
from app.labs.machines.devices import answer_of
from app.labs.run import LabRun
from app.labs.runner.zygote import LATER, PRELOADED, ZygoteOrder, ZygoteReply
from app.labs.spec import lab_called, read_job
from tests.labs.conftest import PATIENCE
from tests.waiting import wait_until

# Whatever of torch asks a driver for GPUs; to call it before a fork spoils CUDA for the forks.
GUARDED = """
import importlib, sys
import torch

called = []

def guard(owner, name):
    def refuse(*arguments, **named):
        called.append(name)
        raise AssertionError(f"{name} was called")
    setattr(owner, name, refuse)

for name in ("is_available", "device_count", "init", "_lazy_init", "current_device", "set_device",
             "get_device_properties", "get_device_capability", "get_device_name", "mem_get_info",
             "_device_count_nvml", "_raw_device_count_nvml", "is_bf16_supported", "synchronize"):
    guard(torch.cuda, name)
for name in ("_cuda_getDeviceCount", "_cuda_init", "_cuda_setDevice", "_cuda_getDevice",
             "_cuda_isInBadFork", "_cuda_getArchFlags", "_cuda_getCurrentRawStream"):
    guard(torch._C, name)
torch.version.cuda = "13.0"
for name in sys.argv[1:]:
    importlib.import_module(name)
sys.exit(", ".join(called) or 0)
"""
# A zygote with next to no torch: how it serves does not depend on that.
LITTLE = """
import sys, types
from app.labs.runner import zygote
version = types.SimpleNamespace(cuda=None, hip=None)
sys.modules["torch"] = types.SimpleNamespace(__version__="2.13.0", version=version)
sys.path.insert(0, sys.argv.pop(1))
zygote.PRELOADED, zygote.LATER, zygote._QUIET = (), ("late1", "broken", "late2"), 0.05
sys.exit(zygote.main())
"""
MODULE = "import pathlib; pathlib.Path(__file__).with_suffix('.imported').touch()"


@pytest.mark.needs("torch")
@pytest.mark.slow(4)
def test_what_is_imported_before_the_forks_asks_no_driver() -> None:
    rooms = ("ranks", "runner")
    ours = [f"app.labs.{room}.{path.stem}" for room in rooms for path in (ROOT / "app/labs" / room).glob("[a-z]*.py")]
    command = [sys.executable, "-c", GUARDED, *PRELOADED, *LATER, *ours]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


class Zygote:
    """A zygote with next to no torch, and its modules in *folder*."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("early", "late1", "late2"):
            (folder / f"{name}.py").write_text(MODULE)
        (folder / "broken.py").write_text("raise ImportError('this version has no such module')")
        self.process = subprocess.Popen(
            [sys.executable, "-c", LITTLE, str(folder), "early"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def reply(self) -> ZygoteReply:
        assert self.process.stdout
        return ZygoteReply.read(self.process.stdout.readline())

    def order(self, order: ZygoteOrder) -> int:
        assert self.process.stdin
        self.process.stdin.write(order.as_line())
        self.process.stdin.flush()
        return self.reply().pid

    @property
    def imported(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("*.imported"))


@pytest.fixture
def zygote(tmp_path: Path) -> Iterator[Zygote]:
    made = Zygote(tmp_path)
    with made.process:
        yield made
        assert made.process.stdin
        made.process.stdin.close()
    assert made.process.returncode == 0


def wait_for(zygote: Zygote, *names: str) -> None:
    wait_until(lambda: zygote.imported == sorted(names), PATIENCE)


def test_it_is_ready_before_it_imports_what_only_some_ranks_need(zygote: Zygote) -> None:
    assert zygote.reply().ready == "2.13.0"
    assert "late2" not in zygote.imported
    wait_for(zygote, "early", "late1", "late2")  # and what cannot be imported stops nothing


def test_while_a_run_is_led_nothing_is_imported(zygote: Zygote, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    with (runs / "cpu.lock").open("w") as devices:
        fcntl.flock(devices, fcntl.LOCK_EX)  # so that the run waits
        run = write_run(runs, read_job(lab_called("ring-bytes"), {}), "gloo", launcher="local", patience=600)
        assert zygote.order(ZygoteOrder(run=str(run.folder))) == 0  # the reply to no order: it is ready
        leader = zygote.reply().pid
        assert leader
        assert zygote.imported == ["early"]
        time.sleep(0.3)  # six times as long as it would wait otherwise
        assert zygote.imported == ["early"]
        os.kill(leader, signal.SIGTERM)
        wait_for(zygote, "early", "late1", "late2")


def test_what_a_worker_needs_is_imported_before_its_ranks_are_forked(zygote: Zygote, tmp_path: Path) -> None:
    """Each of its ranks would import it otherwise."""
    job = read_job(lab_called("ring-bytes"), {})
    record = write_run(tmp_path / "runs", job, "gloo", launcher="local").job
    worker = tmp_path / "worker.py"
    worker.write_text("from late2 import something\n")
    run = LabRun(tmp_path / "runs" / "needs-late2")
    run.write_job(replace(record, worker=str(worker)))
    assert zygote.order(ZygoteOrder(run=str(run.folder))) == 0
    assert zygote.reply().pid
    assert {"early", "late2"} <= set(zygote.imported)
    wait_for(zygote, "early", "late1", "late2")


def test_it_forks_a_process_that_asks_torch(zygote: Zygote) -> None:
    assert zygote.reply().ready
    found = answer_of(lambda printed: zygote.order(ZygoteOrder(probe=str(printed))), PATIENCE)
    assert (found.torch, found.error) == ("2.13.0", "it was built without CUDA and without ROCm")


@pytest.fixture
def torch_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that is imported in the place of torch."""
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    return tmp_path / "torch.py"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "raise OSError('libcublas.so.12: cannot open shared object file')",
            "it is installed, but cannot be loaded: libcublas.so.12: cannot open shared object "
            "file. put the library's folder on LD_LIBRARY_PATH, or install a torch that fits",
        ),
        (
            "raise ImportError('libcudart.so.13: cannot open shared object file', name='torch._C')",
            "it is installed, but cannot be loaded: libcudart.so.13",
        ),
        (
            "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')",
            f"torch is not installed: No module named 'torch'. {INSTALL}",
        ),
        ("import numpi", f"numpi is not installed: No module named 'numpi'. {INSTALL}"),
        (
            "__version__ = '2.7.1+cu128'",
            "2.7.1+cu128 is installed, and 2.8 is the oldest with which they run. pip install --upgrade 'torch>=2.8'",
        ),
        (
            "raise RuntimeError('a broken build')",
            "the process that imports it exited with code 1: RuntimeError: a broken build",
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "the process that imports it was killed by SIGILL"),
    ],
)
def test_why_it_cannot_start_is_told_with_the_cure(torch_is: Path, tmp_path: Path, code: str, says: str) -> None:
    torch_is.write_text(code)
    with pytest.raises(UnavailableError) as caught:
        LocalLauncher(tmp_path / "runs").warm()
    assert str(caught.value).startswith(f"labs need torch: {says}")
    assert ("pip install" in str(caught.value)) == ("pip install" in says)


def test_a_torch_that_is_slow_to_import_is_not_called_missing(torch_is: Path, tmp_path: Path) -> None:
    torch_is.write_text("import time; time.sleep(600)")
    with pytest.raises(UnavailableError, match=r"not imported within 0\.1 s, as happens on a slow"):
        LocalLauncher(tmp_path / "runs", patience=0.1).warm()


def test_it_can_be_closed_while_it_starts(torch_is: Path, tmp_path: Path) -> None:
    torch_is.write_text("import time; time.sleep(600)")
    launcher, told = LocalLauncher(tmp_path / "runs"), list[str]()

    def warm() -> None:
        try:
            launcher.warm()
        except UnavailableError as error:
            told.append(str(error))

    thread = threading.Thread(target=warm)
    thread.start()
    wait_until(lambda: launcher._zygote)
    launcher.close()
    thread.join(PATIENCE)
    assert told == ["labs need torch: the process that imports it was killed by SIGKILL"]


def test_orders_are_lines_of_json() -> None:
    assert json.loads(ZygoteOrder(run="/a\nb").as_line()) == {"run": "/a\nb", "probe": ""}
    assert ZygoteOrder(run="/a\nb").as_line().count(b"\n") == 1
