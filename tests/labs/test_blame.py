"""Who is to blame, by the texts of `faults.yaml` and by what ranks leave behind."""

import json
import signal
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from app.labs.evidence.blame import RankError, blame, codes_in, late_ranks, logs_of
from app.labs.evidence.faults import known_faults
from app.labs.runner.job import stack_of
from tests.each import each

Recorded = Mapping[str, str]
RECORDED = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_text(encoding="utf-8"))
CAUSES: list[Recorded] = RECORDED["causes"]
CONSEQUENCES: list[Recorded] = RECORDED["consequences"]
LOST = "RuntimeError: Connection closed by peer [127.0.0.1]:52930"


def named(recorded: Recorded) -> str:
    return recorded.get("error", recorded.get("log", ""))[:50]


def report(folder: Path, rank: int, at: float, what: str) -> None:
    (folder / f"error{rank}.json").write_text(json.dumps(asdict(RankError(rank, at, what))))


def log(folder: Path, rank: int, text: str) -> None:
    (folder / f"rank{rank}.log").write_text(text)


def leave(folder: Path, rank: int, recorded: Recorded) -> int:
    """What *rank* leaves behind when it fails as *recorded*; its exit code."""
    if "error" in recorded:
        report(folder, rank, 2.0, recorded["error"])
        return 1
    log(folder, rank, recorded["log"])
    return -signal.SIGABRT


@pytest.mark.parametrize("recorded", CAUSES, ids=named)
def test_a_rank_with_a_fault_of_its_own_is_to_blame_and_is_told_the_cure(tmp_path: Path, recorded: Recorded) -> None:
    report(tmp_path, 0, 1.0, LOST)  # it noticed first
    codes = {0: 1, 1: leave(tmp_path, 1, recorded)}
    says = blame(tmp_path, codes, first=0)
    assert says.startswith("rank 1: ")
    assert recorded["says"] in says
    assert recorded["cure"] in says
    assert says.endswith(".")


@pytest.mark.parametrize("recorded", CONSEQUENCES, ids=named)
def test_a_rank_that_lost_another_is_not_to_blame(tmp_path: Path, recorded: Recorded) -> None:
    report(tmp_path, 0, 1.0, recorded["error"])
    report(tmp_path, 2, 3.0, "ValueError: 3 micro-batches for 4 stages")
    assert blame(tmp_path, {0: 1, 2: 1}, 0) == "rank 2: ValueError: 3 micro-batches for 4 stages"


@pytest.mark.parametrize("recorded", CONSEQUENCES, ids=named)
def test_a_rank_that_was_killed_comes_before_the_network(tmp_path: Path, recorded: Recorded) -> None:
    report(tmp_path, 0, 1.0, recorded["error"])
    log(tmp_path, 0, recorded["error"])
    codes = {0: 1, 1: -signal.SIGKILL}
    assert blame(tmp_path, codes, 0) == "rank 1 was killed by SIGKILL; did it run out of memory?"


@pytest.mark.parametrize("recorded", CONSEQUENCES, ids=named)
def test_where_nothing_else_is_known_the_loss_is_told_with_a_cure(tmp_path: Path, recorded: Recorded) -> None:
    report(tmp_path, 0, 1.0, recorded["error"])
    says = blame(tmp_path, {0: 1, 1: -signal.SIGTERM}, 0)
    assert says.startswith("rank 0 ")
    assert any(fault.cure in says for fault in known_faults().consequences)


@pytest.mark.parametrize("recorded", RECORDED["watchdog"], ids=lambda one: one["blamed"][:40])
def test_the_watchdogs_of_all_ranks_tell_which_one_is_late(tmp_path: Path, recorded: dict[str, str]) -> None:
    logs: dict[int, str] = recorded["logs"]  # type: ignore[assignment]
    for rank, text in logs.items():
        log(tmp_path, rank, text)
    job = {"backend": "nccl" if recorded.get("gpus") else "gloo", "launcher": "slurm"}
    (tmp_path / "job.json").write_text(json.dumps(job))
    says = blame(tmp_path, dict.fromkeys(logs, -signal.SIGABRT))
    if recorded["blamed"]:
        assert says.startswith(recorded["blamed"])
    else:
        assert "did not call" not in says
        assert "another collective" not in says


def test_a_rank_that_ended_too_early_is_to_blame_though_it_ended_well(tmp_path: Path) -> None:
    report(tmp_path, 0, 1.0, LOST)
    report(tmp_path, 2, 1.0, LOST)
    assert blame(tmp_path, {1: 0, 0: 1, 2: 1}, 0) == "rank 1 ended before the others had finished"


def test_the_rank_that_the_system_killed_first_is_to_blame_whatever_the_others_say(tmp_path: Path) -> None:
    report(tmp_path, 0, 1.0, "RuntimeError: a new text for a lost connection")
    codes = {1: -signal.SIGSEGV, 0: 1}
    assert blame(tmp_path, codes, 1) == "rank 1 was killed by SIGSEGV"
    assert blame(tmp_path, codes, 0).startswith("rank 0: RuntimeError: a new text")


def test_the_words_of_an_unknown_abort_are_shown(tmp_path: Path) -> None:
    log(tmp_path, 1, "terminate called after throwing an instance of 'X'\n  what():  so it goes\n")
    report(tmp_path, 0, 1.0, LOST)
    codes = {0: 1, 1: -signal.SIGABRT}
    assert blame(tmp_path, codes, 0) == "rank 1 was killed by SIGABRT (so it goes)"


def test_a_log_alone_is_not_a_failure(tmp_path: Path) -> None:
    log(tmp_path, 0, "CUDA error: uncorrectable ECC error encountered")
    assert blame(tmp_path, {}) == ""
    assert blame(tmp_path, {0: 0}) == ""
    (tmp_path / "quiet").mkdir()
    assert blame(tmp_path / "quiet", {0: 0, 1: -signal.SIGTERM}) == ""  # rank 0 is done, and nobody missed it


SRUN = {
    # As Slurm 22.05 wrote it: one task ends, and --kill-on-bad-exit stops the others.
    "killed": (
        "srun: error: n1: task 2: Killed\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=1.0\n"
        "0: slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T09:28:16 ***\n"
        "srun: error: n1: tasks 0,3: Killed\nsrun: error: n1: task 1: Exited with exit code 137\n",
        {2: -9},
    ),
    "raised": (
        "srun: error: n1: task 2: Exited with exit code 1\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=3.0\n"
        "0: slurmstepd-n1: error: *** STEP 3.0 ON n1 CANCELLED AT 2026-11-22T09:28:37 ***\n"
        "srun: error: n1: tasks 0-1: Killed\n",
        {2: 1},
    ),
    "killed in a container": (
        "srun: error: n1: task 2: Exited with exit code 137\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=4.0\n",
        {2: -9},
    ),
    "killed while srun learned of another": (
        "srun: error: n1: task 0: Exited with exit code 1\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=1.0\n"
        "srun: error: n1: task 1: Killed\n"
        "0: slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T09:44:22 ***\n"
        "srun: error: n1: tasks 2-3: Terminated\nsrun: Force Terminated StepId=1.0\n",
        {0: 1, 1: -9},
    ),
    "deaf to SIGTERM": (
        "srun: error: n1: task 0: Exited with exit code 1\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=2.0\n"
        "srun: error: n1: tasks 2-3: Terminated\nsrun: error: n1: task 1: Killed\n"
        "srun: Force Terminated StepId=2.0\n",
        {0: 1},
    ),
    "out of time": (
        "srun: error: n1: tasks 0-3: Alarm clock\nsrun: launch/slurm: _step_signal: Terminating StepId=4.0\n",
        {0: -14, 1: -14, 2: -14, 3: -14},
    ),
    "expired": (
        "srun: forcing job termination\n"
        "srun: Job step aborted: Waiting up to 3 seconds for job step to finish.\n"
        "srun: error: n1: tasks 0-3: Killed\n",
        {},
    ),
    "aborted together": ("srun: error: n1: tasks 0-1,3: Aborted\n", {0: -6, 1: -6, 3: -6}),
}


@each("what", SRUN)
def test_ranks_that_srun_stopped_are_not_to_blame(what: str) -> None:
    text, codes = SRUN[what]
    assert codes_in(text) == codes


def test_the_logs_of_ranks_are_told_apart_by_their_labels(tmp_path: Path) -> None:
    text = " 0: one\n11: two\n 0: three\nsrun: error: n1: task 11: Killed\n"
    (tmp_path / "slurm.log").write_text(text)
    assert logs_of(tmp_path) == {0: "one\nthree", 11: "two"}


def test_what_nccl_wrote_to_a_file_of_its_own_counts_too(tmp_path: Path) -> None:
    report(tmp_path, 0, 1.0, "DistBackendError: ncclSystemError: System call failed. Last error:")
    warning = "misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-W to 9637892 bytes"
    (tmp_path / "nccl1.log").write_text(warning)
    assert blame(tmp_path, {0: 1, 1: -signal.SIGTERM}, 0).startswith("rank 1: /dev/shm is too small")


STACK = """\
Thread 0x00007f3890000000 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait

Current thread 0x00007f38983c5b80 (most recent call first):
{frames}  File "/srv/wallclock/app/labs/runner/leader.py", line 258 in work
  File "/srv/wallclock/app/labs/runner/leader.py", line 230 in _be_rank
"""
CALL = """\
  File "/x/site-packages/torch/distributed/distributed_c10d.py", line 3252 in {call}
  File "/x/site-packages/torch/distributed/c10d_logger.py", line 83 in wrapper
  File "/srv/wallclock/app/labs/library/zero/worker.py", line {line} in main
"""
OWN = '  File "/srv/wallclock/app/labs/library/zero/worker.py", line {line} in main\n'
REDUCE, BARRIER = CALL.format(call="all_reduce", line=11), CALL.format(call="barrier", line=12)
SAME = "all ranks must call the same collectives, in the same order"


@pytest.mark.parametrize(
    ("frames", "says"),
    [
        (
            [REDUCE, REDUCE, REDUCE, BARRIER],
            "rank 3 was in barrier (worker.py line 12), "
            f"while ranks 0-2 were in all_reduce (worker.py line 11); {SAME}",
        ),
        (
            [OWN.format(line=9), OWN.format(line=9), OWN.format(line=9), REDUCE],
            f"ranks 0-2 were at worker.py line 9, while rank 3 was in all_reduce (worker.py line 11); {SAME}",
        ),
        (
            [REDUCE, REDUCE, OWN.format(line=9)],
            "rank 2 was at worker.py line 9, while ranks 0, 1 were in all_reduce (worker.py line "
            "11); the others waited for it",
        ),
        ([REDUCE, REDUCE], "every rank was in all_reduce (worker.py line 11)"),
        ([], ""),
    ],
)
def test_the_stacks_of_a_run_that_hangs_tell_which_rank_is_late(tmp_path: Path, frames: list[str], says: str) -> None:
    for rank, one in enumerate(frames):
        stack_of(tmp_path, rank).write_text(STACK.format(frames=one))
    assert late_ranks(tmp_path) == says


@pytest.mark.parametrize(
    ("job", "events", "is_named"),
    [
        ({"backend": "nccl", "launcher": "local"}, "", True),
        ({"backend": "nccl", "launcher": "local"}, '{"kind": "ready", "at": 1}\n', True),
        ({"backend": "nccl", "launcher": "local"}, '{"kind": "check", "at": 1}\n{"ki', False),
        ({"backend": "nccl", "launcher": "slurm"}, '{"kind": "machine", "machine": {"nodes": 2}}\n', False),
        ({"backend": "nccl", "launcher": "by hand"}, "", False),
        ({"backend": "gloo", "launcher": "local"}, "", False),
    ],
)
def test_transfers_that_the_iommu_loses_are_named_where_no_collective_ever_finished(
    tmp_path: Path, job: dict[str, str], events: str, is_named: bool
) -> None:
    (tmp_path / "job.json").write_text(json.dumps(job))
    (tmp_path / "events.jsonl").write_text(events)
    for rank in range(2):
        stack_of(tmp_path, rank).write_text(STACK.format(frames=REDUCE))
    assert ("NCCL_P2P_DISABLE=1" in late_ranks(tmp_path)) == is_named


def write_progress(folder: Path, *events: str, seconds: float = 120.0) -> None:
    """A run that has reported *events*, and whose rank 0 was elsewhere when it was stopped."""
    job = {"backend": "gloo", "launcher": "local", "seconds": seconds}
    (folder / "job.json").write_text(json.dumps(job))
    lines = ['{"kind": "ready", "at": 1000.0}', *events]
    (folder / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
    for rank, frames in enumerate([OWN.format(line=9), BARRIER, BARRIER]):
        stack_of(folder, rank).write_text(STACK.format(frames=frames))


def timing(at: float, samples: int, each: float) -> str:
    return json.dumps({"kind": "timing", "at": at, "samples": samples, "each": each})


MEASURED = '{"kind": "measure", "at": 1090.0}'


@pytest.mark.parametrize(
    ("events", "is_too_long"),
    [
        ([timing(1080.0, 5, 47.0)], True),
        ([MEASURED, timing(1095.0, 5, 9.0)], True),
        ([timing(1080.0, 5, 1.0)], False),
        ([timing(1080.0, 5, 7.3)], True),  # 36.5 s of the 40 s that are left: more than nine tenths
        ([timing(1080.0, 5, 7.1)], False),
        ([timing(1010.0, 9, 47.0), MEASURED], False),
        ([], False),
    ],
)
def test_a_run_that_is_too_long_by_its_own_parameters_blames_no_rank(
    tmp_path: Path, events: list[str], is_too_long: bool
) -> None:
    write_progress(tmp_path, *events)
    says = late_ranks(tmp_path)
    assert ("its parameters take about" in says) is is_too_long
    assert ("rank 0" in says) is not is_too_long


def test_what_too_long_means_is_told_in_seconds(tmp_path: Path) -> None:
    write_progress(tmp_path, timing(1080.0, 5, 47.0))
    assert late_ranks(tmp_path) == (
        "its parameters take about 315 s or more: 5 samples of 47 s each were begun when 40 s were "
        "left. Take smaller or fewer sizes"
    )


def test_every_cure_is_a_sentence_or_two() -> None:
    faults = known_faults()
    for one in (*faults.causes, *faults.vague, *faults.consequences, faults.hang):
        assert one.cure.endswith("."), one.cure
        assert not one.what.endswith("."), one.what
        assert one.cure[0].isupper(), one.cure
