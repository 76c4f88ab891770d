"""Labs as jobs of a real Slurm, which the tests start themselves."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.core.errors import InputError, UnavailableError
from app.labs.launch.base import Launcher
from app.labs.launch.local import launcher_of
from app.labs.launch.slurm import Pace, SlurmLauncher
from app.labs.results.analysis import report_of
from app.labs.results.report import Report
from app.labs.run import LabRun
from app.labs.spec import lab_called, read_job
from app.main import create_app
from app.server.config import Settings
from tests.labs.conftest import PATIENCE, Faulty
from tests.waiting import wait_until

pytestmark = pytest.mark.slow(50)


@pytest.fixture(autouse=True)
def _nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test submits ends with it, however it ends: the next one needs the devices."""
    yield
    if "cluster" in request.fixturenames:
        subprocess.run(["scancel", "--me"], check=False, capture_output=True)
        wait_until(lambda: not _jobs(), PATIENCE)


def _jobs() -> str:
    """The jobs that Slurm still has in its hands."""
    states = "--states=PENDING,RUNNING,COMPLETING,CONFIGURING,SUSPENDED"
    command = ["squeue", "--me", "--noheader", states]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def settings(tmp_path: Path, **more: Any) -> Settings:
    return Settings(
        runs=tmp_path / "runs %j #1?",
        database=f"sqlite:///{tmp_path}/w.db",
        sandbox_workers=1,
        lab_launcher="slurm",
        **more,
    )


def cluster_of(tmp_path: Path, **more: Any) -> SlurmLauncher:
    """A launcher that looks often: its nodes are this machine, and write to its disk."""
    return SlurmLauncher(settings(tmp_path, **more), Pace(looks=0.1, files=0.3))


@pytest.fixture
def idle(tmp_path: Path) -> str:
    """In the place of Python: what holds its devices until it is stopped, and costs nothing."""
    path = tmp_path / "idle"
    path.write_text("#!/bin/sh\nexec sleep 600\n")
    path.chmod(0o755)
    return str(path)


def ended(launcher: Launcher, run: LabRun) -> Report:
    end = time.monotonic() + PATIENCE
    while not launcher.outcome_of(run):
        assert time.monotonic() < end, (launcher.says_of(run), run.log())
        time.sleep(0.1)
    return report_of(run)


def wait_for(launcher: Launcher, run: LabRun, words: str) -> str:
    end = time.monotonic() + PATIENCE
    while words not in (says := launcher.says_of(run)):
        assert not launcher.outcome_of(run), run.log()
        assert time.monotonic() < end, says
        time.sleep(0.1)
    return says


def slurms_word(run: LabRun, name: str) -> str:
    """What Slurm says about the job of *run*."""
    number = json.loads((run.folder / "slurm.json").read_text())["job"]
    command = ["scontrol", "show", "job", "--oneliner", number]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(word.partition("=")[::2] for word in said.split())[name]


def test_a_lab_is_a_job_and_its_counts_are_right(cluster: Path, tmp_path: Path) -> None:
    launcher = cluster_of(tmp_path, slurm_partition="labs")
    assert launcher.trouble() == ""
    run = launcher.start(read_job(lab_called("ring-bytes"), {"ranks": "2"}))
    report = ended(launcher, run)
    assert (report.state, report.cause) == ("done", "")
    assert all(one.right for one in report.measures)
    assert report.world == 2
    assert report.machine.nodes == 1
    # Another process that knows nothing of it finds it as it is.
    again = cluster_of(tmp_path)
    outcome = again.outcome_of(again.run_called(run.id))
    assert outcome
    assert outcome.state == "done"


def test_a_run_on_two_nodes_has_ranks_on_both(cluster: Path, tmp_path: Path) -> None:
    launcher = cluster_of(tmp_path, slurm_nodes=2)
    run = launcher.start(read_job(lab_called("ring-bytes"), {"ranks": "2", "nodes": "2"}))
    report = ended(launcher, run)
    assert (report.state, report.cause) == ("done", "")
    assert all(one.right for one in report.measures)
    assert (report.nodes, report.machine.nodes) == (2, 2)
    assert report.size == "2 ranks on 2 nodes"
    assert report.machine.sharing == "shared node"
    assert any("Slurm could run other jobs on the same node" in note for note in report.notes)
    assert "ranks=2 nodes=2" in report.command
    assert slurms_word(run, "NodeList") == "one,two"


REQUESTS: dict[str, dict[str, Any]] = {
    "typed": {"slurm_gpu_options": "--gres=gpu:fake:{gpus}"},
    "per node": {"slurm_gpu_options": "--gpus-per-node=fake:{gpus}", "slurm_cpus": 3},
    "exclusive": {"slurm_exclusive": True},
    "by the site": {"slurm_memory": "100M"},
}
GIVEN = {
    "typed": ("cpus=4 gpus=0,1", "2M"),
    "per node": ("cpus=3 gpus=0,1", "2M"),
    "exclusive": ("cpus=4 gpus=0,1", "8000M"),
    "by the site": ("cpus=4 gpus=0,1,2", "400M"),
}


def test_slurm_gives_what_the_settings_ask_for(cluster: Path, tmp_path: Path) -> None:
    """Four ranks over two nodes; in the place of Python, something that says what it was given."""
    site, says = tmp_path / "site", tmp_path / "says"
    site.write_text("#SBATCH --gres=gpu:fake:3\n")
    says.write_text(
        "#!/bin/sh\necho node=$SLURM_NODEID local=$SLURM_LOCALID word=$WORD "
        "cpus=$SLURM_CPUS_PER_TASK gpus=$CUDA_VISIBLE_DEVICES\n"
    )
    says.chmod(0o755)
    runs = {}
    for name, asked in REQUESTS.items():
        launcher = cluster_of(
            tmp_path,
            slurm_nodes=2,
            slurm_gpus=2,
            slurm_python=str(says),
            slurm_srun="--quiet env 'WORD=a b'",
            **asked,
            slurm_site=site if name == "by the site" else None,
        )
        plan = launcher.plan(lab_called("all-reduce"), {"ranks": "4"})
        runs[name] = (launcher, launcher.start(plan.job, plan.backend))
    for name, (launcher, run) in runs.items():
        ended(launcher, run)
        given, memory = GIVEN[name]
        lines = sorted(run.log().splitlines()[1:])
        assert lines == [f"{rank}: node={rank // 2} local={rank % 2} word=a b {given}" for rank in range(4)], name
        assert f"mem={memory}," in slurms_word(run, "TRES"), name


RAISES = "rank 1: ValueError: 3 micro-batches for 4 stages"
ENDS = {
    "kill -KILL $$": "rank 1 was killed by SIGKILL; did it run out of memory?",
    "exit 3": "rank 1 exited with code 3",
    "kill -SEGV $$": "rank 1 was killed by SIGSEGV",
}


def test_a_fault_of_a_rank_is_told_with_its_cause(cluster: Path, tmp_path: Path, faulty: Faulty) -> None:
    """One in Python; how a process ends is told by Slurm alone, so a shell can end like it."""
    launcher = cluster_of(tmp_path)
    runs = {RAISES: (launcher, launcher.start(faulty("raises", ranks=2)))}
    for number, (ends, cause) in enumerate(ENDS.items()):
        python = tmp_path / f"python{number}"
        python.write_text(f"#!/bin/sh\n[ $SLURM_PROCID = 1 ] && {ends}\nexec sleep 600\n")
        python.chmod(0o755)
        one = cluster_of(tmp_path, slurm_python=str(python))
        runs[cause] = (one, one.start(faulty("nothing", ranks=2)))  # there is room for all
    for cause, (one, run) in runs.items():
        report = ended(one, run)
        assert report.state == "failed", cause
        assert cause in report.cause


def test_a_site_file_that_ends_the_job_is_told_with_its_last_line(
    cluster: Path, tmp_path: Path, faulty: Faulty
) -> None:
    site = tmp_path / "site"
    for says in ("exit 3", "set -e\n(exit 3)"):
        site.write_text(f"echo Loading\necho no module is called cuda/99 >&2\n{says}\n")
        launcher = cluster_of(tmp_path, slurm_site=site)
        report = ended(launcher, launcher.start(faulty("nothing", ranks=2)))
        cause = "the job exited with code 3: no module is called cuda/99"
        assert (report.state, report.cause) == ("failed", cause)


def test_a_run_that_hangs_is_ended_in_time_or_canceled_and_leaves_nothing(
    cluster: Path, tmp_path: Path, faulty: Faulty
) -> None:
    launcher = cluster_of(tmp_path)
    run = launcher.start(faulty("stubborn", ranks=2))
    wait_for(launcher, run, "job ")
    late = hung(launcher, faulty)
    wait_until(lambda: len(list(run.folder.glob("pid*"))) == 2, PATIENCE)
    launcher.cancel(run)
    assert ended(launcher, run).state == "cancelled"
    pids = [int(path.read_text()) for one in (run, late) for path in one.folder.glob("pid*")]
    assert len(pids) == 4
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), PATIENCE)


def hung(launcher: Launcher, faulty: Faulty) -> LabRun:
    """A run that hung until its time was up; on a busy machine, 2 s are too short to come so far."""
    where = r"rank 1 was at worker\.py line \d+, while rank 0 was in barrier"
    for seconds in (2, 20, 100):
        late = launcher.start(faulty("hangs", ranks=2, seconds=seconds))
        report = ended(launcher, late)
        assert report.state == "timeout"
        if re.match(f"it took more than its {seconds} s: {where}", report.cause):
            return late
    raise AssertionError(report.cause)


ALL_GPUS = "#SBATCH --nodelist=one\n#SBATCH --gres=gpu:4\necho gpus=$CUDA_VISIBLE_DEVICES\n"


def test_two_jobs_that_want_all_gpus_take_turns(cluster: Path, tmp_path: Path, faulty: Faulty, idle: str) -> None:
    site = tmp_path / "site"
    site.write_text(ALL_GPUS)
    launcher, hog = (cluster_of(tmp_path, slurm_site=site), cluster_of(tmp_path, slurm_site=site, slurm_python=idle))
    first = hog.start(faulty("nothing", ranks=2))
    second = launcher.start(faulty("nothing", ranks=2))
    says = wait_for(launcher, second, "in Slurm's queue (Resources)")
    assert re.fullmatch(r"job \d+ is number 1 of 1 in Slurm's queue \(Resources\)", says)
    assert not launcher.outcome_of(second)
    hog.cancel(first)
    assert ended(hog, first).state == "cancelled"
    assert ended(launcher, second).state == "done"
    assert "gpus=0,1,2,3" in second.log()


def test_nccl_where_slurm_gives_gpus_that_are_none_is_told(cluster: Path, tmp_path: Path) -> None:
    launcher = cluster_of(tmp_path, slurm_gpus=4)
    plan = launcher.plan(lab_called("all-reduce"), {"ranks": "2", "sizes": "8KiB"})
    assert (plan.backend, plan.notes) == ("nccl", ())
    run = launcher.start(plan.job, plan.backend)
    report = ended(launcher, run)
    assert report.state == "failed"
    assert re.match(r"rank \d: .*(CUDA|NVIDIA|cuda|no GPU)", report.cause), report.cause


def test_more_ranks_than_devices_are_refused_before_slurm_hears_of_them(tmp_path: Path) -> None:
    launcher = launcher_of(settings(tmp_path, slurm_gpus=2))
    assert isinstance(launcher, SlurmLauncher)
    lab, given = lab_called("all-reduce"), {"ranks": "4"}
    with pytest.raises(InputError, match="4 ranks, and there are 2 GPUs"):
        launcher.plan(lab, given, "nccl")
    plan = launcher.plan(lab, given)
    assert (plan.backend, len(plan.notes)) == ("gloo", 1)


def test_what_waits_too_long_is_ended(cluster: Path, tmp_path: Path, faulty: Faulty, idle: str) -> None:
    busy = tmp_path / "busy"
    busy.write_text(ALL_GPUS)
    hog = cluster_of(tmp_path, slurm_site=busy, slurm_python=idle)
    first = hog.start(faulty("nothing", ranks=2))
    impatient = cluster_of(tmp_path, slurm_site=busy, slurm_patience=1)
    report = ended(impatient, impatient.start(faulty("nothing", ranks=2)))
    assert report.state == "failed"
    assert re.search(r"it waited \d+ s in Slurm's queue: Resources", report.cause)
    hog.cancel(first)
    ended(hog, first)


def test_what_slurm_will_never_start_is_ended(cluster: Path, tmp_path: Path, faulty: Faulty) -> None:
    site = tmp_path / "site"
    site.write_text("#SBATCH --cpus-per-task=100\n")
    launcher = cluster_of(tmp_path, slurm_site=site)
    report = ended(launcher, launcher.start(faulty("nothing", ranks=2)))
    assert (report.state, report.cause) == ("failed", "Slurm would never start it: PartitionConfig")


def test_what_slurm_rejects_is_told(cluster: Path, tmp_path: Path) -> None:
    launcher = cluster_of(tmp_path, slurm_partition="nowhere")
    with pytest.raises(UnavailableError, match="Slurm rejected it: .*partition"):
        launcher.start(read_job(lab_called("ring-bytes"), {}))


def test_without_slurm_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    launcher = cluster_of(tmp_path)
    assert "sbatch is not installed" in launcher.trouble()
    with pytest.raises(UnavailableError, match="sbatch is not installed"):
        launcher.start(read_job(lab_called("ring-bytes"), {}))


def test_a_slurm_that_does_not_answer_is_waited_for(
    cluster: Path, tmp_path: Path, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = cluster_of(tmp_path)
    run = launcher.start(faulty("nothing", ranks=2))
    broken = tmp_path / "broken.conf"
    broken.write_text("Nonsense=1\n")
    monkeypatch.setenv("SLURM_CONF", str(broken))
    assert launcher.outcome_of(run) in (None, run.outcome)
    assert "Slurm does not answer" in launcher.says_of(run)
    monkeypatch.undo()
    os.environ["SLURM_CONF"] = str(cluster)
    assert ended(launcher, run).state == "done"


def test_the_page_shows_slurms_word_and_cancels(cluster: Path, tmp_path: Path, idle: str) -> None:
    site = tmp_path / "site"
    site.write_text(ALL_GPUS)
    chosen = {"slurm_site": site, "slurm_python": idle}
    app = create_app(settings(tmp_path, **chosen))
    with TestClient(app, follow_redirects=False) as client:
        app.state.site.labs.launcher = cluster_of(tmp_path, **chosen)
        pages = []
        for _ in range(2):
            given = {"run.ranks": "2", "run.bandwidth": "5 MB/s", "run.sizes": "16 MiB", "guess": "1 s"}
            answer = client.post("/labs/algorithms", data={**given, "guess": "1 s"})
            assert answer.status_code == 303, answer.text
            pages.append(answer.headers["location"])
        waits = "number 1 of 1 in Slurm&#39;s queue (Resources)"
        wait_until(lambda: waits in client.get(pages[1]).text, PATIENCE)
        for page in reversed(pages):
            assert client.post(f"{page}/cancel").status_code == 303
        stopped = "Canceled: stopped on request"
        wait_until(lambda: all(stopped in client.get(page).text for page in pages), PATIENCE)
