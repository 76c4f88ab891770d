"""Training on GPUs that are not there: backward passes, and what PyTorch wraps around a model.

`fake_gpu` has tensors without numbers. Here autograd works on them too. In the place of PyTorch's
data and pipeline parallelism, which need numbers, are stand-ins that compute and send nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.device_mesh as meshes
import torch.distributed.fsdp as fsdp
import torch.distributed.pipelining as pipelining
import torch.nn.parallel as parallel
from torch import nn
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._pytree import tree_leaves

from app.labs.runner import gpu
from tests.labs import fake_gpu

_WORK = ("aten.mm.", "aten.addmm.", "aten._scaled_dot_product", "c10d.", "_c10d_functional.")


class _Answers(fake_gpu._Answers):
    """No product, attention or collective of the worker's own is on the processor."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tensors = [one for one in tree_leaves(args) if isinstance(one, torch.Tensor)]
        if str(func).startswith(_WORK) and any(one.device.type == "cpu" for one in tensors):
            raise RuntimeError(f"{func} is on the processor")
        return super().__torch_dispatch__(func, types, args, kwargs)


class _Replica(nn.Module):  # type: ignore[misc]
    """In the place of DistributedDataParallel."""

    def __init__(self, module: nn.Module, **_: object) -> None:
        super().__init__()
        self.module = module

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.module(given)
        return out

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        yield


class _Stage:
    """In the place of PipelineStage."""

    def __init__(self, module: nn.Module, index: int, depth: int, device: torch.device, *like: torch.Tensor) -> None:
        assert len(like) == 2  # what it takes, and what it returns
        self.module, self.device = module, device
        self.is_first, self.is_last = index == 0, index == depth - 1


class _Schedule:
    """In the place of a schedule: every stage forward and backward, with nothing to wait for."""

    def __init__(self, stages: Any, n_microbatches: int, loss_fn: Callable[..., Any]) -> None:
        self.stages: Sequence[_Stage] = stages if isinstance(stages, list) else [stages]
        self.micro, self.loss = n_microbatches, loss_fn
        self.received: torch.Tensor | None = None

    def step(self, *given: torch.Tensor, target: Any = None, losses: object = None) -> None:
        width = next(self.stages[0].module.parameters()).shape[1]
        for stage in self.stages:
            assert bool(given) >= stage.is_first
            assert (target is not None) >= stage.is_last
            for chunk in (given[0] if stage.is_first else self._passed_on(stage, width)).chunk(self.micro):
                out = stage.module(chunk)
                if stage.is_last:
                    self.loss(out, target[: len(out)]).backward()
                else:
                    out.backward(torch.randn_like(out))

    def _passed_on(self, stage: _Stage, width: int) -> torch.Tensor:
        return torch.randn(4 * self.micro, width, device=stage.device, dtype=torch.bfloat16)


@contextmanager
def fake_training(free: float) -> Iterator[None]:
    """Autograd, and stand-ins for what PyTorch wraps around a model; *free* bytes on every GPU."""
    make, mesh = torch.Tensor._make_subclass, meshes.init_device_mesh

    def made(cls: Any, data: torch.Tensor, requires_grad: bool = False, **kwargs: Any) -> Any:
        kwargs.pop("dispatch_device", None)  # autograd asks C++, which has no GPUs: meta is right
        return make(cls, data, requires_grad, **kwargs)

    def real_mesh(*args: Any, **kwargs: Any) -> Any:
        with unset_fake_temporarily():  # a mesh is of ranks, which are numbers
            return mesh(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fake_gpu, "_Answers", _Answers)
        patch.setattr(torch.Tensor, "_make_subclass", staticmethod(made))
        patch.setattr(meshes, "init_device_mesh", real_mesh)
        patch.setattr(fsdp, "fully_shard", lambda module, **_: module)
        patch.setattr(parallel, "DistributedDataParallel", _Replica)
        patch.setattr(pipelining, "PipelineStage", _Stage)
        for name in (name for name in vars(pipelining) if name.startswith("Schedule")):
            patch.setattr(pipelining, name, _Schedule)
        patch.setattr(torch.cuda, "is_bf16_supported", lambda *_: True)
        patch.setattr(gpu, "free_bytes", lambda _: free)
        yield


def train_on_fake_gpu(
    lab: str, folder: Path, given: Mapping[str, str], rank: int = 0, free: float = float("inf")
) -> fake_gpu.FakeGpuRank:
    """The rank that has run the worker of *lab*, in its form for GPUs."""
    import_module("torch._dynamo")  # slow, and it must see Tensor as it is
    with fake_training(free):
        return fake_gpu.run_on_fake_gpu(lab, folder, given, rank)
