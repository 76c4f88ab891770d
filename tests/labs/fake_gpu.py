"""A GPU that is not there: tensors on `cuda:0` without numbers, and ranks that do not talk.

A worker runs to its end in milliseconds. What mixes devices, types or shapes fails as it would on
a GPU; what is compared counts as equal, once both are on one device.
"""

import ctypes
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.testing._internal.distributed import fake_pg  # noqa: F401  # registers it
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from app.labs.runner import gpu
from app.labs.runner.proof import DataProof
from app.labs.runner.rank import RankBudget, RankReport, RankTiming, WorkerRank
from app.labs.spec import lab_called, read_job

GPU = torch.device("cuda", 0)
_FLASH = 1  # of SDPBackend
_CUDA, _META = 1, 14  # of c10::DeviceType
_GUARDS = "_ZN3c104impl26device_guard_impl_registryE"
_HOPPER = (9, 0)
_COMPARISONS = ("aten.equal.default", "aten.allclose.default")


class FakeReport(RankReport):
    """Remembers what is reported."""

    def __init__(self) -> None:
        self.checks: list[str] = []
        self.measures: list[tuple[str, Mapping[str, float | str]]] = []
        self.told: dict[str, str] = {}

    def check(self, name: str, right: bool) -> None:
        assert isinstance(right, bool)
        self.checks.append(name)

    def measure(self, name: str, samples: Sequence[float], by_rank: Sequence[float] = (), **at: float | str) -> None:
        assert all(isinstance(one, int | float) for one in samples)
        self.measures.append((name, at))

    def tell(self, name: str, says: str) -> None:
        self.told[name] = says


class FakeTiming(RankTiming):
    """Takes no times, but makes the calls."""

    def __init__(self) -> None:
        """No group, and no clock."""

    def sample(self, call: Callable[[], object], *args: Any, **kwargs: Any) -> list[float]:
        call()
        call()
        return [0.001, 0.002]

    def sample_by_host(self, call: Callable[[], object], *args: Any, **kwargs: Any) -> list[float]:
        return self.sample(call)

    def own_medians(self, part: float = 1.0) -> Sequence[float]:
        return ()

    def rotate(self, make: Callable[[], Callable[[], object]], size: float) -> Callable[[], object]:
        assert size > 0
        calls = [make(), make()]
        return lambda: [call() for call in calls]


class FakeBudget(RankBudget):
    """Has time for everything, and room for what is smaller than *room*."""

    def __init__(self) -> None:
        self.room = float("inf")

    def peak(self, call: Callable[[], object]) -> tuple[int, int]:
        call()
        return 1000, 2000

    def has_room(self, size: float, what: str) -> bool:
        assert size > 0
        assert what
        return size < self.room

    def has_time(self, call: Callable[[], object], least: int, what: str) -> bool:
        assert least > 0
        assert what
        return True

    def _room(self) -> float:
        return gpu.free_bytes(GPU)


class FakeGpuRank(WorkerRank):
    """A rank that thinks that it is on a GPU; it takes no times, and remembers its reports."""

    report: FakeReport
    budget: FakeBudget

    def __init__(self, rank: int, world: int, folder: Path, values: Mapping[str, Any]) -> None:
        super().__init__(rank, world, folder, values=values, on_gpu=False, seconds=60.0)
        self.report.close()
        self.on_gpu, self.device = True, GPU
        self.report, self.timing, self.budget = FakeReport(), FakeTiming(), FakeBudget()

    @property
    def checks(self) -> list[str]:
        return self.report.checks

    @property
    def measures(self) -> list[tuple[str, Mapping[str, float | str]]]:
        return self.report.measures

    @property
    def told(self) -> dict[str, str]:
        return self.report.told

    def all_gather(self, value: float) -> list[float]:
        return [value] * self.world

    def prove(self, proof: DataProof, **where: float | str) -> None:
        assert proof.difference(0) is None
        self.report.checks.append(proof.name)


class _Answers(TorchDispatchMode):  # type: ignore[misc]
    """Answers what only numbers could tell, and writes what has no fake to its place."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        if str(func).startswith("c10d."):  # on processors, gloo would take it, and not NCCL
            leaves = tree_leaves((args, given))
            assert {one.device for one in leaves if isinstance(one, torch.Tensor)} <= {GPU}
        if str(func) in _COMPARISONS:
            one, other = args[:2]
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            torch.add(one, other)  # fails on two devices
            return True
        if str(func) == "aten._scaled_mm.out":
            out = given.pop("out")
            return out.copy_(torch.ops.aten._scaled_mm.default(*args, **given))
        return func(*args, **given)


@contextmanager
def fake_gpu(world: int, rank: int = 0) -> Iterator[None]:
    """Tensors on GPUs have no numbers here, and collectives of *world* ranks no effect."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _PATCHES.items():
            patch.setattr(torch.Tensor, name, value)
        patch.setattr(sys, "excepthook", sys.excepthook)  # a process group changes it
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(torch.cuda, "get_device_capability", lambda *_: _HOPPER)
        patch.setattr(torch, "_fused_sdp_choice", lambda *_, **__: _FLASH)
        patch.setattr(functional, "scaled_dot_product_attention", _flash_attention)
        saved: list[torch.Tensor] = []
        patch.setattr(torch, "save", lambda tensor, _: saved.append(tensor))
        patch.setattr(torch, "load", lambda *_, **__: saved[-1])
        dist.init_process_group("fake", rank=rank, world_size=world)
        try:
            with _guarded_devices(), FakeTensorMode(), _Answers():
                yield
        finally:
            dist.destroy_process_group()


# Tensors without numbers cannot be asked for one.
_PATCHES: Mapping[str, object] = {"__bool__": lambda _: True, "__float__": lambda _: 1.0, "item": lambda _: 1}


def _flash_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, is_causal: bool) -> torch.Tensor:
    """Attention in the kernel of GPUs; torch itself would ask which ones are there."""
    flash = torch.ops.aten._scaled_dot_product_flash_attention
    out: torch.Tensor = flash(query, key, value, is_causal=is_causal)[0]
    return out


@contextmanager
def _guarded_devices() -> Iterator[None]:
    """Let torch switch between GPUs that are not there.

    A build without CUDA has no guard of its devices, and fails where one is asked for; that of a
    build with CUDA asks the driver. That of meta tensors, which does nothing, takes its place.
    """
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
    guards = (ctypes.c_void_p * (_META + 1)).in_dll(library, _GUARDS)
    own, guards[_CUDA] = guards[_CUDA], guards[_META]
    try:
        yield
    finally:
        guards[_CUDA] = own


def load_worker(path: Path) -> Any:
    """The module of a worker."""
    spec = importlib.util.spec_from_file_location("lab_worker", path)
    assert spec
    assert spec.loader
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    return worker


def run_on_fake_gpu(
    lab: str, folder: Path, given: Mapping[str, str], rank: int = 0, room: float = float("inf")
) -> FakeGpuRank:
    """The rank that has run the worker of *lab*, in its form for GPUs."""
    form = lab_called(lab).on("nccl")
    job = read_job(form, given)
    own = FakeGpuRank(rank, job.ranks, folder, job.values)
    own.budget.room = room
    worker = load_worker(form.worker)
    with fake_gpu(job.ranks, rank):
        worker.main(own)
    return own


def undeclared(lab: str, rank: FakeGpuRank) -> set[str]:
    """The measures that *rank* reported and the lab's form for GPUs does not declare."""
    form = lab_called(lab).on("nccl")
    return {name for name, _ in rank.measures} - form.measures.keys()
