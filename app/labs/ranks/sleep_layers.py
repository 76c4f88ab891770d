"""Layers that sleep instead of computing: the timing of a GPU without one."""

import time
from typing import Any

import torch
from torch import nn


def sleep_until(moment: float) -> None:
    """Sleep until *moment* on the clock of perf_counter."""
    while (left := moment - time.perf_counter()) > 0:
        time.sleep(left)


class _Nap(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: torch.Tensor, forward: float, backward: float) -> torch.Tensor:
        """Sleep, and pass the input on."""
        sleep_until(time.perf_counter() + forward)
        ctx.backward_time = backward
        return given.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Sleep before the layer's own gradients are computed."""
        sleep_until(time.perf_counter() + ctx.backward_time)
        return gradient, None, None


class SleepingLayer(nn.Module):
    """A linear layer that takes *forward* and *backward* seconds longer than its computation."""

    def __init__(self, width: int, forward: float, backward: float) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.times = (forward, backward)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """The product, delayed."""
        out: torch.Tensor = _Nap.apply(self.linear(given), *self.times)
        return out
