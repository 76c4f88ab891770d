"""Every worker of a real lab, on a GPU that is not there."""

import faulthandler
import itertools
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed import distributed_c10d
from torch.utils._python_dispatch import TorchDispatchMode

from app.labs.evidence.blame import late_ranks
from app.labs.library.check import worker
from app.labs.runner.job import stack_of
from app.labs.runner.proof import Pattern
from app.labs.spec import lab_called
from tests.labs.fake_gpu import GPU, FakeGpuRank, FakeTiming, fake_gpu, run_on_fake_gpu, undeclared

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")
GIB = 2.0**30
SEVEN = ("all-reduce", "attention", "checkpoint", "matrix-product", "memory-copy", "point-to-point", "two-streams")


@pytest.mark.parametrize(
    ("lab", "given"),
    [
        ("all-reduce", {}),
        ("all-reduce", {"operation": "all_gather", "ranks": "3", "sizes": "3MiB"}),
        ("all-reduce", {"operation": "reduce_scatter", "ranks": "3", "sizes": "3MiB"}),
        ("all-reduce", {"operation": "all_to_all", "ranks": "3", "sizes": "3MiB"}),
        ("all-reduce", {"operation": "broadcast", "ranks": "3", "sizes": "3MiB"}),
        ("point-to-point", {}),
        ("point-to-point", {"peer": "2", "ranks": "3"}),
        ("two-streams", {}),
        ("matrix-product", {}),
        ("matrix-product", {"format": "fp32"}),
        ("matrix-product", {"format": "tf32"}),
        ("matrix-product", {"format": "fp16"}),
        ("matrix-product", {"format": "fp8"}),
        ("memory-copy", {}),
        ("memory-copy", {"source": "pinned", "sizes": "1 MiB"}),
        ("memory-copy", {"source": "pageable", "sizes": "1 MiB"}),
        ("attention", {"heads": "1", "lengths": "1024,2048"}),
        ("attention", {"heads": "1", "lengths": "1024", "kernel": "flash", "causal": "yes"}),
        ("checkpoint", {}),
        ("checkpoint", {"layout": "rank-0", "ranks": "1"}),
    ],
)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_worker_keeps_everything_on_the_gpu(tmp_path: Path, lab: str, given: dict[str, str], rank: int) -> None:
    if rank >= int(given.get("ranks", lab_called(lab).on("nccl").ranks[2])):
        return
    found = run_on_fake_gpu(lab, tmp_path, given, rank)
    assert found.checks
    assert found.measures
    assert not undeclared(lab, found)


@pytest.mark.parametrize("lab", SEVEN)
def test_what_is_asked_for_is_measured_with_the_parameters_that_are_set(tmp_path: Path, lab: str) -> None:
    given = {"heads": "1", "lengths": "1024"} if lab == "attention" else {}
    found, form = run_on_fake_gpu(lab, tmp_path, given), lab_called(lab).on("nccl")
    names = {name for name, _ in found.measures}
    assert form.asked_of(form.starts) in names
    assert names == {name for name in form.measures if name not in ("rank-0", "pair")}


def test_all_pairs_of_gpus_are_measured_with_two_sizes(tmp_path: Path) -> None:
    found = run_on_fake_gpu("point-to-point", tmp_path, {"ranks": "4", "peer": "all"})
    assert {name for name, _ in found.measures} == {"pair"}
    places = [(at["size"], at["rank"], at["peer"]) for _, at in found.measures]
    pairs = list(itertools.combinations(range(4), 2))
    assert places == [(size, *pair) for size in (8, 2**29) for pair in pairs]


def test_a_tensor_that_is_left_on_the_processor_is_found() -> None:
    with fake_gpu(2):
        one, other = torch.randn(4, device=GPU), torch.randn(4)
        for mixed in (torch.add, torch.equal, torch.allclose):
            with pytest.raises(RuntimeError, match="on the same device"):
                mixed(one, other)
        with pytest.raises(AssertionError):
            torch.equal(one, one.half())


@pytest.mark.parametrize(
    ("lab", "given", "room", "left"),
    [
        ("all-reduce", {"sizes": "1MiB,4GiB"}, 4, {"time": {2.0**20}}),
        ("point-to-point", {"sizes": "1MiB,8GiB"}, 4, {"time": {2.0**20}}),
        ("memory-copy", {"sizes": "1MiB,4GiB"}, 4, {"time": {2.0**20}}),
        ("matrix-product", {"sides": "256,32768"}, 4, {"time": {256.0}}),
        ("attention", {"heads": "2", "lengths": "1024,4096"}, 0.1, {"fused": {1024.0, 4096.0}, "separate": {1024.0}}),
    ],
)
def test_what_does_not_fit_is_left_out(
    tmp_path: Path, lab: str, given: dict[str, str], room: float, left: dict[str, set[float]]
) -> None:
    found = run_on_fake_gpu(lab, tmp_path, given, room=room * GIB)
    for name, places in left.items():
        at = {next(iter(where.values())) for measure, where in found.measures if measure == name}
        assert at == places


def test_a_peer_must_be_one_of_the_ranks(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="peer=3 needs 4 ranks or more: this run has 3"):
        run_on_fake_gpu("point-to-point", tmp_path, {"peer": "3", "ranks": "3"})


def test_the_kernel_and_the_precision_are_told(tmp_path: Path) -> None:
    attention = run_on_fake_gpu("attention", tmp_path, {"heads": "1", "lengths": "1024"})
    assert attention.told == {"kernel": "flash"}
    product = run_on_fake_gpu("matrix-product", tmp_path, {"format": "tf32", "sides": "128"})
    assert product.told == {"precision": "FP32 rounded to TF32, 16-bit products summed in FP32"}


@pytest.mark.parametrize("source", ["device", "pinned"])
def test_the_check_of_a_copy_needs_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Where two arrays fit, a third may not."""
    compared: list[int] = []

    def equal(one: torch.Tensor, other: torch.Tensor) -> bool:
        assert (one.device, one.shape) == (other.device, other.shape)
        compared.append(one.numel())
        return True

    monkeypatch.setattr(torch, "equal", equal)
    run_on_fake_gpu("memory-copy", tmp_path, {"source": source, "sizes": "1GiB"})
    assert sum(compared) == GIB
    assert max(compared) <= GIB / 16


@pytest.mark.parametrize("world", [2, 3, 32, 33, 1024])
def test_sums_of_a_proof_are_ones_that_bf16_has(world: int) -> None:
    assert torch.tensor(256, dtype=torch.bfloat16) + 1 == 256  # so no sum may be larger
    pattern, contributed = Pattern(world, torch.bfloat16, torch.device("cpu")), set[int]()
    for turn in range(32):
        pattern.begin(turn)
        own = torch.empty(64, dtype=torch.bfloat16)
        pattern.fill(own, 0, pattern.total)
        assert own.max() <= 256
        contributed |= {rank for rank in range(world) if pattern.weight(rank)}
    assert contributed == set(range(world))


@pytest.mark.parametrize("form", ["bf16", "fp8"])
def test_nothing_but_the_product_is_in_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    calls = Calls()

    def sample(_: FakeTiming, call: Callable[[], object], *args: object) -> list[float]:
        with calls:
            call()
        return [0.001]

    monkeypatch.setattr(FakeTiming, "sample", sample)
    run_on_fake_gpu("matrix-product", tmp_path, {"format": form, "sides": "128"})
    assert calls.names
    assert {name.partition(".out")[0] for name in calls.names} <= {"aten.mm", "aten._scaled_mm"}


def test_the_rank_that_skips_a_collective_is_blamed_where_the_others_wait_for_their_gpus(tmp_path: Path) -> None:
    """They have left the collective, which is in the queues of the GPUs."""
    for number in range(4):
        values = {"what": "skips", "bad": 3.0, "seconds": 20.0}
        rank = FakeGpuRank(number, 4, tmp_path, values)
        with stack_of(tmp_path, number).open("w") as file:
            wait = partial(faulthandler.dump_traceback, file=file)
            # Within: what was patched last is restored first.
            with suppress(Exception), fake_gpu(4, number), pytest.MonkeyPatch.context() as patch:
                patch.setattr(torch.Tensor, "__bool__", wait)
                patch.setattr(torch.cuda, "_lazy_init", wait)
                patch.setattr(distributed_c10d, "BarrierOptions", wait)
                worker.main(rank)
    assert late_ranks(tmp_path).startswith("rank 3 was in barrier (worker.py line ")
    assert "while ranks 0-2 were in synchronize (worker.py line " in late_ranks(tmp_path)


class Calls(TorchDispatchMode):  # type: ignore[misc]
    """Remembers the operations that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))
