"""Labs as jobs of a real Slurm, which the tests start themselves."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient

from app.__main__ import main
from app.config import Settings
from app.errors import InputError, UnavailableError
from app.labs.analysis import report_of
from app.labs.launch.base import Launcher
from app.labs.launch.choice import launcher_of
from app.labs.launch.kubernetes import prepared
from app.labs.launch.slurm import SlurmLauncher
from app.labs.report import Report
from app.labs.run import Run
from app.labs.spec import lab_called, read_job
from app.main import create_app
from tests.labs.cluster import is_possible, slurm
from tests.labs.conftest import PATIENCE, Faulty

pytestmark = pytest.mark.slow(150)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if not is_possible():
        pytest.skip("wants Slurm's packages, and root")
    with slurm(tmp_path_factory.mktemp("slurm")) as configuration:
        os.environ["SLURM_CONF"] = str(configuration)
        yield configuration
        del os.environ["SLURM_CONF"]


@pytest.fixture(autouse=True)
def _nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test submits ends with it, however it ends: the next one needs the devices."""
    yield
    if "cluster" in request.fixturenames:
        subprocess.run(["scancel", "--me"], check=False, capture_output=True)
        end = time.monotonic() + PATIENCE
        while _jobs():
            assert time.monotonic() < end, "a job cannot be ended"
            time.sleep(0.1)


def _jobs() -> str:
    """The jobs that Slurm still has in its hands."""
    states = "--states=PENDING,RUNNING,COMPLETING,CONFIGURING,SUSPENDED"
    command = ["squeue", "--me", "--noheader", states]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def settings(tmp_path: Path, **more: Any) -> Settings:
    return Settings(
        runs=tmp_path / "runs", database=f"sqlite:///{tmp_path}/w.db", sandbox_workers=1,
        lab_launcher="slurm", **more,
    )  # fmt: skip


def ended(launcher: Launcher, run: Run) -> Report:
    end = time.monotonic() + PATIENCE
    while not launcher.outcome_of(run):
        assert time.monotonic() < end, (launcher.says_of(run), run.log())
        time.sleep(0.1)
    return report_of(run)


def wait_for(launcher: Launcher, run: Run, words: str) -> str:
    end = time.monotonic() + PATIENCE
    while words not in (says := launcher.says_of(run)):
        assert not launcher.outcome_of(run), run.log()
        assert time.monotonic() < end, says
        time.sleep(0.1)
    return says


def test_a_lab_is_a_job_and_its_counts_are_right(cluster: Path, tmp_path: Path) -> None:
    launcher = launcher_of(settings(tmp_path, slurm_partition="labs"))
    assert launcher.trouble() == ""
    run = launcher.start(read_job(lab_called("ring-bytes"), {"ranks": "4"}))
    report = ended(launcher, run)
    assert (report.state, report.cause) == ("done", "")
    assert all(one.right for one in report.measures)
    assert report.world == 4
    assert report.machine.nodes == 1
    # Another process that knows nothing of it finds it as it is.
    again = launcher_of(settings(tmp_path))
    outcome = again.outcome_of(again.run_called(run.id))
    assert outcome
    assert outcome.state == "done"


FAULTS = {
    "raises": "rank 1: ValueError: 3 micro-batches for 4 stages",
    "killed": "rank 1 was killed by SIGKILL; did it run out of memory?",
    "exits": "rank 1 exited with code 3",
    "crashes": "rank 1 was killed by SIGSEGV",
}


def test_a_fault_of_a_rank_is_told_with_its_cause(
    cluster: Path, tmp_path: Path, faulty: Faulty
) -> None:
    launcher = launcher_of(settings(tmp_path))
    jobs = {what: faulty(what, ranks=2) for what in FAULTS}
    runs = {what: launcher.start(job) for what, job in jobs.items()}  # there is room for all
    for what, run in runs.items():
        report = ended(launcher, run)
        assert report.state == "failed", what
        assert FAULTS[what] in report.cause


def test_a_run_that_hangs_is_cancelled_and_leaves_nothing(
    cluster: Path, tmp_path: Path, faulty: Faulty
) -> None:
    launcher = launcher_of(settings(tmp_path))
    run = launcher.start(faulty("stubborn", ranks=2))
    wait_for(launcher, run, "job ")
    end = time.monotonic() + PATIENCE
    while not list(run.folder.glob("pid*")):
        assert time.monotonic() < end
        time.sleep(0.1)
    launcher.cancel(run)
    assert ended(launcher, run).state == "cancelled"
    pids = [int(path.read_text()) for path in run.folder.glob("pid*")]
    end = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_run_that_hangs_is_ended_in_time(cluster: Path, tmp_path: Path, faulty: Faulty) -> None:
    launcher = launcher_of(settings(tmp_path))
    report = ended(launcher, launcher.start(faulty("hangs", ranks=2, seconds=4)))
    assert report.state == "timeout"
    late = r"rank 1 was at worker\.py line \d+, while rank 0 was in barrier"
    assert re.match(f"it took more than its 4 s: {late}", report.cause), report.cause


def test_two_jobs_that_want_all_gpus_take_turns(
    cluster: Path, tmp_path: Path, faulty: Faulty
) -> None:
    site = tmp_path / "site"
    site.write_text("#SBATCH --gres=gpu:4\necho gpus=$CUDA_VISIBLE_DEVICES\n")
    launcher = launcher_of(settings(tmp_path, slurm_site=site))
    first, second = (
        launcher.start(faulty("hangs", ranks=2)),
        launcher.start(faulty("nothing", ranks=2)),
    )
    says = wait_for(launcher, second, "in Slurm's queue (Resources)")
    assert re.fullmatch(r"job \d+ is number 1 of 1 in Slurm's queue \(Resources\)", says)
    assert not launcher.outcome_of(second)
    launcher.cancel(first)
    assert ended(launcher, first).state == "cancelled"
    assert ended(launcher, second).state == "done"
    assert "gpus=0,1,2,3" in second.log()


def test_nccl_where_slurm_gives_gpus_that_are_none_is_told(cluster: Path, tmp_path: Path) -> None:
    launcher = launcher_of(settings(tmp_path, slurm_gpus=4))
    plan = launcher.plan(lab_called("all-reduce"), {"ranks": "2", "sizes": "8KiB"})
    assert (plan.backend, plan.notes) == ("nccl", ())
    run = launcher.start(plan.job, plan.backend)
    report = ended(launcher, run)
    assert report.state == "failed"
    assert re.match(r"rank \d: .*(CUDA|NVIDIA|cuda|no GPU)", report.cause), report.cause


def test_more_ranks_than_devices_are_refused_before_slurm_hears_of_them(tmp_path: Path) -> None:
    launcher = launcher_of(settings(tmp_path, slurm_gpus=2))
    lab, given = lab_called("all-reduce"), {"ranks": "4"}
    with pytest.raises(InputError, match="4 ranks, and there are 2 GPUs"):
        launcher.plan(lab, given, "nccl")
    plan = launcher.plan(lab, given)
    assert (plan.backend, len(plan.notes)) == ("gloo", 1)


def test_what_waits_too_long_is_ended(cluster: Path, tmp_path: Path, faulty: Faulty) -> None:
    busy = tmp_path / "busy"
    busy.write_text("#SBATCH --gres=gpu:4\n")
    hog = launcher_of(settings(tmp_path, slurm_site=busy))
    first = hog.start(faulty("hangs", ranks=2))
    impatient = launcher_of(settings(tmp_path, slurm_site=busy, slurm_patience=2))
    report = ended(impatient, impatient.start(faulty("nothing", ranks=2)))
    assert report.state == "failed"
    assert re.search(r"it waited \d+ s in Slurm's queue: Resources", report.cause)
    hog.cancel(first)
    ended(hog, first)


def test_what_slurm_will_never_start_is_ended(
    cluster: Path, tmp_path: Path, faulty: Faulty
) -> None:
    site = tmp_path / "site"
    site.write_text("#SBATCH --cpus-per-task=100\n")
    launcher = launcher_of(settings(tmp_path, slurm_site=site))
    report = ended(launcher, launcher.start(faulty("nothing", ranks=2)))
    assert (report.state, report.cause) == ("failed", "Slurm would never start it: PartitionConfig")


def test_what_slurm_rejects_is_told(cluster: Path, tmp_path: Path) -> None:
    launcher = launcher_of(settings(tmp_path, slurm_partition="nowhere"))
    with pytest.raises(UnavailableError, match="Slurm rejected it: .*partition"):
        launcher.start(read_job(lab_called("ring-bytes"), {}))


def test_without_slurm_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    launcher = launcher_of(settings(tmp_path))
    assert "sbatch is not installed" in launcher.trouble()
    with pytest.raises(UnavailableError, match="sbatch is not installed"):
        launcher.start(read_job(lab_called("ring-bytes"), {}))


def test_a_slurm_that_does_not_answer_is_waited_for(
    cluster: Path, tmp_path: Path, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = launcher_of(settings(tmp_path))
    run = launcher.start(faulty("nothing", ranks=2))
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "no.conf"))
    assert isinstance(launcher, SlurmLauncher)
    assert launcher.outcome_of(run) in (None, run.outcome)
    assert "Slurm does not answer" in launcher.says_of(run)
    monkeypatch.undo()
    os.environ["SLURM_CONF"] = str(cluster)
    assert ended(launcher, run).state == "done"


def test_the_page_shows_slurms_word_and_cancels(cluster: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.write_text("#SBATCH --gres=gpu:4\n")
    chosen = settings(tmp_path, slurm_site=site)
    with TestClient(create_app(chosen), follow_redirects=False) as client:
        pages = []
        for _ in range(2):
            given = {
                "run.ranks": "2",
                "run.bandwidth": "5 MB/s",
                "run.sizes": "16 MiB",
                "guess": "1 s",
            }
            answer = client.post("/labs/algorithms", data={**given, "guess": "1 s"})
            assert answer.status_code == 303, answer.text
            pages.append(answer.headers["location"])
        end = time.monotonic() + PATIENCE
        while "number 1 of 1 in Slurm&#39;s queue (Resources)" not in client.get(pages[1]).text:
            assert time.monotonic() < end, client.get(pages[1]).text[-3000:]
            time.sleep(0.2)
        for page in reversed(pages):
            assert client.post(f"{page}/cancel").status_code == 303
        while any("Canceled: stopped on request" not in client.get(page).text for page in pages):
            assert time.monotonic() < end
            time.sleep(0.2)


def test_ranks_started_by_hand_meet_in_the_folder(tmp_path: Path) -> None:
    """As an indexed Job of Kubernetes starts them: a place in the environment, a folder, no more."""
    run = prepared(read_job(lab_called("ring-bytes"), {"ranks": "3"}), tmp_path, "gloo")
    assert run.outcome is None
    command = [sys.executable, "-m", "app.labs.launch.rank_main", str(run.folder)]
    ranks = [
        subprocess.Popen(
            command, env={**os.environ, "JOB_COMPLETION_INDEX": str(rank), "WORLD_SIZE": "3"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for rank in range(3)
    ]  # fmt: skip
    try:
        assert [one.wait(timeout=PATIENCE) for one in ranks] == [0, 0, 0]
    finally:
        for one in ranks:
            one.kill()
    report = report_of(run)
    assert report.state == "done"
    assert all(one.right for one in report.measures)


def test_a_rank_started_by_hand_that_fails_is_told(tmp_path: Path) -> None:
    run = prepared(read_job(lab_called("ring-bytes"), {"ranks": "3"}), tmp_path, "gloo")
    command = [sys.executable, "-m", "app.labs.launch.rank_main", str(run.folder)]
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "2"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True)
    assert done.returncode == 1
    assert run.outcome
    assert run.outcome.state == "failed"
    assert "this run has 3 ranks, but 2 were started" in run.outcome.cause
    assert json.loads((run.folder / "job.json").read_text())["launcher"] == "by hand"


def test_a_manifest_starts_a_pod_a_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    command = ["lab", "prepare", "all-reduce", "ranks=8", "--image", "lab:1", "--claim", "shared"]
    assert main([*command, "--backend", "nccl"]) == 0
    text = capsys.readouterr().out
    job = yaml.safe_load(text)
    (pod,) = job["spec"]["template"]["spec"]["containers"]
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (8, 8)
    assert job["spec"]["completionMode"] == "Indexed"
    assert len(job["metadata"]["name"]) <= 63
    assert pod["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    folder = Path(pod["command"][-1])
    assert pod["command"][:3] == ["python", "-m", "app.labs.launch.rank_main"]
    assert folder.parent == Path(pod["volumeMounts"][0]["mountPath"])
    assert json.loads((folder / "job.json").read_text())["backend"] == "nccl"
    assert main(["lab", "show", text.split()[4]]) == 0
    assert main(["lab", "prepare", "ring-bytes", "--backend", "gloo"]) == 0
    assert "WORLD_SIZE=4" in capsys.readouterr().out
