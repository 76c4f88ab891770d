"""What is counted beside samples: processors and GPUs that others use, and who may use them."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest
import torch

from app.labs.launch.base import write_run
from app.labs.machines.devices import Device, Devices
from app.labs.run import JobRecord
from app.labs.runner.clocks import (
    BusyGpuError,
    CoreWait,
    WaitMeter,
    reading_text,
    readings_event,
    use_of_others,
    wait_event,
)
from app.labs.runner.events import GpuReading
from app.labs.runner.group import RankGroup
from app.labs.runner.leader import DeviceLocks
from app.labs.runner.rank import WorkerRank
from app.labs.runner.timer import Sampling, Timer
from app.labs.spec import lab_called, read_job
from tests.labs.scripted import ScriptedGpu


def test_what_is_counted_is_what_happens_inside(tmp_path: Path) -> None:
    """A thread that waits, one that is new, and one that ends: of each that is there at the end, what was added."""
    meter = WaitMeter(tmp_path)
    write_waits(tmp_path, main=1.0, ends=9.0)
    with meter.counted():
        write_waits(tmp_path, main=1.5, new=0.25)
        (tmp_path / "20" / "schedstat").unlink()
    write_waits(tmp_path, main=7.0)  # between the samples
    with meter.counted():
        write_waits(tmp_path, main=7.125)
    assert meter.total.waiting == pytest.approx(0.5 + 0.125)
    assert 0 < meter.total.seconds < 60


def write_waits(folder: Path, **seconds: float) -> None:
    """What the kernel says of threads that have waited for so many *seconds*."""
    for name, waited in seconds.items():
        task = folder / {"main": "10", "ends": "20", "new": "30"}[name]
        task.mkdir(exist_ok=True)
        (task / "schedstat").write_text(f"5000 {int(waited * 1e9)} 3\n")


def test_a_kernel_that_does_not_count_leaves_the_waits_unknown(tmp_path: Path) -> None:
    meter = WaitMeter(tmp_path)
    with meter.counted():
        write_waits(tmp_path, main=0.0)
        (tmp_path / "10" / "schedstat").write_text("0 0 0\n")
    assert meter.total.waiting is None
    event = wait_event([meter.total.as_json(), CoreWait(2.0, 0.5).as_json()])
    assert event.waiting == (None, 0.5)
    assert event.seconds[1] == 2.0


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count it")
def test_threads_that_share_a_core_wait_for_it() -> None:
    """Two processes on one core: each waits for about as long as the other computes."""
    allowed = os.sched_getaffinity(0)
    meter, one = WaitMeter(), min(allowed)
    try:
        os.sched_setaffinity(0, {one})
        rival = os.fork()
        if rival == 0:
            _spin(60.0)
            os._exit(0)
        with meter.counted():
            _spin(0.2)
        os.kill(rival, signal.SIGKILL)
        os.waitpid(rival, 0)
    finally:
        os.sched_setaffinity(0, allowed)
    assert meter.total.waiting is not None
    assert 0.2 * meter.total.seconds < meter.total.waiting < meter.total.seconds


def _spin(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        continue


def test_every_rank_says_what_its_gpu_does() -> None:
    slow = GpuReading(clock=1.2e9, slowed={"the temperature": 3.0})
    event = readings_event("after", [reading_text(None), reading_text(slow)])
    assert event is not None
    assert event.readings == (None, slow)
    assert readings_event("after", ["", ""]) is None


def test_a_rank_that_is_alone_does_nothing_between_its_samples() -> None:
    machine = ScriptedGpu(0.0)
    group = RankGroup(0, 1, torch.device("cpu"))  # it has met nobody, so it could not ask
    timer = Timer(group, machine, is_alone=True)
    samples = timer.by_host(lambda: machine.sleep(0.25), Sampling(seconds=1, least=2))
    assert samples == [0.25] * 4


def test_a_rank_that_is_alone_takes_short_calls_in_batches() -> None:
    machine, calls, short = ScriptedGpu(0.0), list[float](), 2.0**-16

    def call() -> None:
        calls.append(machine.now())
        machine.sleep(short if len(calls) % 7 else 2 * short)

    samples = Timer(machine, machine, is_alone=True).by_host(call, Sampling(seconds=1, most=20))
    assert len(samples) == 20
    assert samples == pytest.approx([short * 8 / 7] * 20)
    assert len(calls) == 3 + 1 + 20 * 7


def devices(*uuids: str) -> tuple[Device, ...]:
    return tuple(Device(uuid=uuid) for uuid in uuids)


def _job(folder: Path, found: Devices, ranks: int = 2, backend: str = "nccl") -> JobRecord:
    job = read_job(lab_called("all-reduce").run_over(backend), {"ranks": str(ranks)})
    return write_run(folder, job, backend, launcher="local", devices=found).job


def test_runs_of_two_folders_wait_for_each_other_on_the_same_gpu(tmp_path: Path) -> None:
    mine = f"GPU-{os.getpid()}"  # no other test has it
    gpus = Devices(kind="cuda", devices=devices(f"{mine}-0", f"{mine}-1", f"{mine}-2"))
    other = Devices(kind="cuda", devices=devices(f"{mine}-2", f"{mine}-3"))
    one, two = tmp_path / "one", tmp_path / "two"
    with DeviceLocks(two, _job(two, gpus, 2)) as second:
        with DeviceLocks(one, _job(one, gpus, 2)) as first:
            assert first.take()
            assert first.take()  # it still has them
            assert not second.take()
            with DeviceLocks(two, _job(two, other, 2)) as third:
                assert third.take()
        assert second.take()


def test_a_lock_lasts_as_long_as_a_rank_that_has_inherited_it(tmp_path: Path) -> None:
    gpus = Devices(kind="cuda", devices=devices(f"GPU-{os.getpid()}-a", f"GPU-{os.getpid()}-b"))
    job = _job(tmp_path, gpus, 2)
    with DeviceLocks(tmp_path, job) as locks:
        assert locks.take()
        ended, end = os.pipe()
        rank = os.fork()
        if rank == 0:
            os.close(end)
            os.read(ended, 1)
            os._exit(0)
    with DeviceLocks(tmp_path, job) as next_run:
        assert not next_run.take()
        os.close(end)
        os.waitpid(rank, 0)
        assert next_run.take()
    os.close(ended)


def test_processors_and_gpus_without_a_name_are_locked_within_a_folder(tmp_path: Path) -> None:
    nameless = Devices(kind="cuda", devices=devices("", ""))
    for backend, found in (("gloo", Devices()), ("nccl", nameless)):
        job = partial(_job, found=found, backend=backend)
        one, two = tmp_path / backend / "one", tmp_path / backend / "two"
        with DeviceLocks(one, job(one)) as first, DeviceLocks(one, job(one)) as second:
            assert first.take()
            assert not second.take()
            with DeviceLocks(two, job(two)) as elsewhere:
                assert elsewhere.take()


def test_a_gpu_that_others_use_is_told_with_what_they_do() -> None:
    assert use_of_others(None) == ""
    assert use_of_others(GpuReading(uuid="GPU-1")) == ""
    assert use_of_others(GpuReading(uuid="GPU-1", memory_used=2 * 2.0**30, utilization=0.1)) == ""
    memory = use_of_others(GpuReading(uuid="GPU-1", memory_used=30 * 2.0**30))
    assert memory == "others use GPU GPU-1: 30 GiB of it are in use. Measure when it is free, or take --anyway"
    both = use_of_others(GpuReading(uuid="GPU-1", memory_used=3 * 2.0**30, utilization=0.6))
    assert "3 GiB of it are in use and it is at work for 60% of the time" in both


def test_a_rank_whose_gpu_is_busy_refuses_before_it_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state comes from a tool that is not there: its answer is given."""
    busy = GpuReading(uuid="GPU-1", utilization=0.6)
    monkeypatch.setattr("app.labs.runner.clocks.reading_of", lambda _: busy)
    monkeypatch.setattr("app.labs.runner.rank._AGAIN", 0.0)
    rank = WorkerRank(0, 1, tmp_path, values={}, on_gpu=False, seconds=60.0)
    rank.join()
    rank._look("before")
    rank.refuses_busy = True
    with pytest.raises(BusyGpuError, match="at work for 60% of the time"):
        rank._look("before")
    rank._look("after")
    rank.leave()
