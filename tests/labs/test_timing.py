"""What a rank's timer measures, on a machine whose clocks are scripted."""

import statistics
from functools import partial
from pathlib import Path

import pytest
import torch

from app.labs.runner.gpu import GpuStream
from app.labs.runner.group import RankGroup
from app.labs.runner.rank import RankReport, RankTiming
from app.labs.runner.timer import Mark, Sampling, Timer
from tests.each import each
from tests.labs.scripted import ScriptedGpu

KERNEL = 10e-6
SAMPLING = Sampling(seconds=0.1)


@each("launch", [0.5e-6, 5e-6, 50e-6])
@each("kernel", [2e-6, 10e-6, 300e-6, 5e-3])
def test_a_time_by_events_does_not_depend_on_the_launch(launch: float, kernel: float) -> None:
    machine = ScriptedGpu(launch, back=20e-6)
    samples = machine.timer.by_events(partial(machine.call, kernel), SAMPLING)
    assert len(samples) >= SAMPLING.least
    assert samples == pytest.approx([kernel] * len(samples), rel=0.01)


def test_a_time_with_launch_has_the_launch_and_the_way_back_in_it() -> None:
    found = []
    for launch in (5e-6, 50e-6):
        machine = ScriptedGpu(launch, back=20e-6)
        samples = machine.timer.by_host(partial(machine.call, KERNEL), SAMPLING)
        found.append(statistics.median(samples))
    assert found == pytest.approx([5e-6 + KERNEL + 20e-6, 50e-6 + KERNEL + 20e-6])


def test_a_batch_takes_two_milliseconds_however_short_the_call() -> None:
    for kernel in (4e-6, 60e-6, 1.5e-3, 7e-3):
        machine = ScriptedGpu(5e-6)
        samples = machine.timer.by_events(partial(machine.call, kernel), Sampling(seconds=0, least=40))
        settled = machine.calls
        machine.timer.by_events(partial(machine.call, kernel), Sampling(seconds=0, least=140))
        batch = (machine.calls - 2 * settled) / (140 - 40)
        assert len(samples) == 40
        assert 2e-3 <= batch * kernel <= max(2.5e-3, 2 * kernel)


def test_a_queue_with_little_room_gets_smaller_batches() -> None:
    """Were it to run full, the host would wait for the GPU, and then the GPU for the host."""
    machine = ScriptedGpu(50e-6, room=64)
    samples = machine.timer.by_events(partial(machine.call, KERNEL), SAMPLING)
    assert samples == pytest.approx([KERNEL] * len(samples), rel=0.01)


def test_a_batch_during_which_the_host_paused_is_left_out() -> None:
    machine = ScriptedGpu(5e-6)
    machine.pauses = {3000: 0.2, 5000: 0.2}
    samples = machine.timer.by_events(partial(machine.call, KERNEL), SAMPLING)
    assert machine.calls > 5000
    assert max(samples) == pytest.approx(KERNEL, rel=0.01)


def test_a_call_that_waits_for_the_gpu_is_timed_all_the_same() -> None:
    machine = ScriptedGpu(5e-6, back=20e-6)

    def waits() -> None:
        machine.call(KERNEL)
        machine.synchronize()

    samples = machine.timer.by_events(waits, SAMPLING)
    assert len(samples) >= SAMPLING.least
    assert samples == pytest.approx([5e-6 + KERNEL + 20e-6] * len(samples), rel=0.05)


def test_a_time_that_includes_launches_is_told_as_such(tmp_path: Path) -> None:
    machine, blocking = ScriptedGpu(5e-6), ScriptedGpu(5e-6)

    def waits() -> None:  # as every call does with CUDA_LAUNCH_BLOCKING=1
        blocking.call(KERNEL)
        blocking.synchronize()

    for gpu, call, says in (
        (machine, partial(machine.call, KERNEL), []),
        (blocking, waits, ["step at size 8.0, whole include launches, as a GPU had to wait for them"]),
    ):
        report = ToldReport(tmp_path, 1, lambda value: [value])
        timing = RankTiming(RankGroup(0, 1, torch.device("cpu")), torch.device("cpu"), 1, report)
        timing.on_gpu, timing.timer, report.told = True, gpu.timer, []
        report.measure("step", timing.sample(call, seconds=0.1), size=8.0)
        report.measure("quick", timing.sample(partial(gpu.call, KERNEL), seconds=0.1))
        report.measure("whole", timing.sample(call, seconds=0.1))
        report.tell_launches()
        assert report.told == says


class ToldReport(RankReport):
    told: list[str]

    def tell(self, name: str, says: str) -> None:
        self.told.append(says)


def test_no_gpu_is_held_for_seconds() -> None:
    machine = ScriptedGpu(2.0)
    samples = machine.timer.by_events(partial(machine.call, 3.0), Sampling(seconds=1, least=3))
    assert samples == pytest.approx([2.0 + 3.0] * 3, rel=0.01)


def test_a_time_is_that_of_the_slowest_rank() -> None:
    machine = ScriptedGpu(5e-6, others=1.25)
    samples = machine.timer.by_events(partial(machine.call, KERNEL), SAMPLING)
    assert samples == pytest.approx([1.25 * KERNEL] * len(samples), rel=0.01)


def test_on_processors_a_sample_is_one_call_after_a_barrier() -> None:
    machine = ScriptedGpu(0.0)
    timer = Timer(machine, machine)
    order: list[str] = []
    samples = timer.by_host(
        lambda: machine.sleep(0.25), Sampling(seconds=1, least=2, warm=1), lambda: order.append("w")
    )
    assert samples == [0.25] * 4
    assert order == ["w"]
    together = timer.by_host(lambda: machine.sleep(0.5), Sampling(seconds=1), at_once=True)
    assert together == pytest.approx([0.5] * 5)
    with pytest.raises(TypeError, match="without a GPU"):
        timer.by_events(int, SAMPLING)


class ScriptedEvent:
    """What torch calls an event, on the scripted machine."""

    machine: ScriptedGpu
    own: Mark

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        self.own = self.machine.mark()

    def query(self) -> bool:
        return self.own.has_passed()

    def elapsed_time(self, later: "ScriptedEvent") -> float:
        return 1e3 * self.own.seconds_to(later.own)  # milliseconds


def test_a_gpu_is_held_for_as_long_as_asked_when_its_clock_has_risen(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, clock = ScriptedGpu(1e-6), [345e6]
    monkeypatch.setattr(ScriptedEvent, "machine", machine, raising=False)
    monkeypatch.setattr(torch.cuda, "Event", ScriptedEvent)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: machine.run(cycles / clock[0]))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _: machine.synchronize())
    stream = GpuStream(torch.device("cuda", 0))

    def held() -> float:
        begun = stream.mark()
        stream.spin(0.01)
        ended = stream.mark()
        stream.synchronize()
        return begun.seconds_to(ended)

    held()
    assert held() == pytest.approx(0.01, rel=0.01)
    clock[0] = 1980e6
    assert held() == pytest.approx(0.01 * 345 / 1980, rel=0.01)
    assert held() == pytest.approx(0.01, rel=0.01)
    timer = Timer(machine, machine, stream)
    clock[0] = 5 * 1980e6
    samples = timer.by_events(partial(machine.call, KERNEL), SAMPLING)
    assert samples == pytest.approx([KERNEL] * len(samples), rel=0.01)
