"""What one machine can prove of the labs by itself: forced worlds of one, an own timing, each lab once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from app.core.folders import ROOT
from tests.each import each

torch = pytest.importorskip("torch")
from app.labs.check import selftest  # noqa: E402
from app.labs.check.selftest import FORCED, selftest_parts  # noqa: E402
from app.labs.spec import LIBRARY  # noqa: E402
from tests.labs.fake_gpu import FakeGpuRank, fake_gpu, load_worker  # noqa: E402

pytestmark = [pytest.mark.needs("torch"), pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")]
# Everything but Python's own library, torch, pydantic, and what these two import.
BLOCKED = "fastapi,sqlmodel,sqlalchemy,jinja2,yaml,msgspec,numpy,httpx,markdown_it,tqdm,pydantic_settings"


@each("name", FORCED)
def test_each_forced_part_runs_on_a_gpu(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """So that what is renamed in the product breaks here, and not on the first GPU."""
    lab, values = FORCED[name]
    rank = FakeGpuRank(0, 1, tmp_path_factory.mktemp(name), values)
    with fake_gpu(1):
        load_worker(LIBRARY / lab / "worker.py").main(rank)
    assert rank.checks
    assert {measure for measure, _ in rank.measures} >= {"time"}


def test_the_forced_and_own_parts_start_with_the_packages_of_the_runner_alone(tmp_path: Path) -> None:
    code = (
        "import sys, runpy\n"
        f"for name in {BLOCKED!r}.split(','): sys.modules[name] = None\n"
        "sys.argv[1:] = [sys.argv[1]]\n"
        "runpy.run_module('app.labs.check.selftest', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "runs")], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    parts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["name"] for one in parts] == [*FORCED, "timing"]
    assert [one["fault"] for one in parts] == [""] * len(parts)
    assert set(parts[-1]["beside"]) == {"copy", "all-reduce"}


def test_a_part_that_fails_is_told_and_the_next_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "FORCED", {"copy": FORCED["copy"]})
    (tmp_path / "copy").mkdir()
    first, second = selftest_parts(tmp_path, on_gpu=False)
    assert (first["name"], second["name"]) == ("copy", "timing")
    assert str(first["fault"]).startswith("FileExistsError: ")
    assert second["fault"] == ""


@pytest.mark.slow(20)
def test_the_command_writes_one_file_and_exits_with_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    file = tmp_path / "found.json"
    assert main(["lab", "selftest", "--labs", "ring-bytes,no-such-lab", "-o", str(file)]) == 1
    found = json.loads(file.read_text())
    by_name = {f"{one['part']} {one['name']}": one for one in found["parts"]}
    assert len(by_name) == len(FORCED) + 3
    assert by_name["lab ring-bytes"]["fault"] == ""
    assert by_name["lab ring-bytes"]["report"]["state"] == "done"
    (fault,) = found["faults"]
    assert fault.startswith("lab no-such-lab: ")
    assert "no-such-lab" in by_name["lab no-such-lab"]["fault"]
    printed = capsys.readouterr().out
    assert "passed  forced all_reduce" in printed
    assert f"{len(by_name)} parts, 1 with a fault: {file}" in printed
