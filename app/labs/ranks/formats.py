"""Number formats of matrix products, the flags of torch that decide about them, and how far rounding goes."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch

Product = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]
FORMATS: Mapping[str, torch.dtype] = MappingProxyType(
    {
        "fp32": torch.float32,
        "tf32": torch.float32,
        "bf16": torch.bfloat16,
        "fp16": torch.float16,
        "fp8": torch.float8_e4m3fn,
    }
)
_AMPERE, _ADA = (8, 0), (8, 9)  # the first with TF32, the first with FP8
_ODD = 2**11  # an odd integer above it has a bit more than TF32 keeps
_SMALL = 4  # integers up to here, and sums of their products, are exact in every format
_BF16 = 2.0**-8  # the largest relative error of rounding to 8 significant bits
_MARGIN = 2.0  # of the error that roundings explain
_SIDES = 16  # what FP8 divides the sides of matrices by


def use(name: str) -> torch.dtype:
    """The type of the operands of *name*; from now on, torch computes products exactly so.

    FP32 is not rounded to TF32, whatever the environment says, and no sum is kept in 16 bits.
    """
    if trouble := _trouble(name):
        raise ValueError(f"{name}: {trouble}")
    matmul = torch.backends.cuda.matmul
    # Not the newer fp32_precision: this sets it too, and that leaves what the environment has set,
    # upon which torch refuses to say which of the two counts.
    matmul.allow_tf32 = name == "tf32"
    matmul.allow_bf16_reduced_precision_reduction = False
    matmul.allow_fp16_reduced_precision_reduction = False
    return _amd_fp8() or FORMATS[name] if name == "fp8" else FORMATS[name]


def flags() -> str:
    """How products are computed now, in words."""
    rounded = torch.backends.cuda.matmul.allow_tf32
    return f"FP32 {'rounded to TF32' if rounded else 'as it is'}, 16-bit products summed in FP32"


def operands(kind: torch.dtype, side: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Two square matrices of random numbers, and one for their product."""
    if kind.itemsize == 1 and side % _SIDES:
        raise ValueError(f"fp8: a side must be a multiple of {_SIDES}, not {side}")
    one, other = (torch.randn(side, side, device=device) for _ in range(2))
    return _arranged(kind, one, other)


def multiply_into(one: torch.Tensor, other: torch.Tensor, out: torch.Tensor, unit: torch.Tensor | None = None) -> None:
    """Write the product of *one* and *other*, of the same type, to *out*.

    *unit* is a one on their device, the scale of FP8: where it is made first, that takes a kernel.
    """
    if one.element_size() > 1:
        torch.mm(one, other, out=out)
        return
    unit = torch.ones((), device=one.device) if unit is None else unit
    torch._scaled_mm(one, other, unit, unit, out_dtype=out.dtype, use_fast_accum=True, out=out)


def is_right(name: str, kind: torch.dtype, side: int, device: torch.device, product: Product = multiply_into) -> bool:
    """Whether a product of integers comes out right, rounded as *name* rounds and no further.

    In FP32 and TF32 one operand is of odd integers of twelve bits. FP32 keeps them all and adds
    them without an error; TF32, with ten bits after the first, rounds every one of them.
    """
    wide = kind is torch.float32
    low, high = (_ODD, 2 * _ODD) if wide else (-_SMALL, _SMALL + 1)
    one = torch.randint(low, high, (side, side), device=device) | int(wide)
    other = torch.randint(-1, 2, (side, side), device=device)
    exact = (one.double() @ other.double()).float()
    matrices = _arranged(kind, one.float(), other.float())
    product(*matrices)
    found = matrices[-1].float()
    if name == "fp32":
        return bool(torch.equal(found, exact))
    if name == "tf32":
        near = torch.allclose(found, exact, rtol=0.0, atol=side)
        return bool(near) and not torch.equal(found, exact)
    coarse = 2 * torch.finfo(matrices[-1].dtype).eps
    return bool(torch.allclose(found, exact, rtol=coarse, atol=coarse * side**0.5))


def agree(found: torch.Tensor, expected: torch.Tensor, roundings: int) -> bool:
    """Whether *roundings* to BF16, one after another, can explain how far *found* is off.

    A rounding changes a number by at most 2^-8 of it, by 0.4 * 2^-8 in the root mean square. The
    errors of independent roundings add up like the sides of right angles: *roundings* of them move
    a tensor by 0.4 * sqrt(roundings) * 2^-8 of its length. Five times that is allowed. Of many
    elements the length hardly varies; a wrong result is about as far off as it is long.
    """
    error = torch.linalg.vector_norm(found.float() - expected.float(), dtype=torch.float64)
    length = torch.linalg.vector_norm(expected.float(), dtype=torch.float64)
    return bool(error <= _MARGIN * math.sqrt(roundings) * _BF16 * length)


def _arranged(
    kind: torch.dtype, one: torch.Tensor, other: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """*one* and *other* as *kind*, laid out as its products need them, and room for a product."""
    first, second = one.to(kind), other.to(kind)
    if first.element_size() == 1:
        columns = torch.empty_like(second).t().copy_(second)
        return first, columns, torch.empty_like(one, dtype=torch.bfloat16)
    return first, second, torch.empty_like(first)


def _trouble(name: str) -> str:
    """Why this device does not have the format; empty if it does."""
    on_gpu = torch.cuda.is_available()
    if name == "tf32" and (not on_gpu or torch.version.hip or _capability() < _AMPERE):
        return "only NVIDIA GPUs have it, from compute capability 8.0 on; take fp32 or bf16"
    if name == "fp8" and torch.version.hip and not _amd_fp8():
        return "this GPU has no products of it; take bf16"
    if name == "fp8" and (not on_gpu or (not torch.version.hip and _capability() < _ADA)):
        return "NVIDIA GPUs have products of it from compute capability 8.9 on; take bf16"
    return ""


def _capability() -> tuple[int, int]:
    major, minor = torch.cuda.get_device_capability()
    return int(major), int(minor)


def _amd_fp8() -> torch.dtype | None:
    """The FP8 of this AMD GPU; None where it has none, or is not from AMD."""
    if not torch.version.hip:
        return None
    name = str(torch.cuda.get_device_properties(torch.cuda.current_device()).gcnArchName)
    if name.startswith("gfx94"):
        return torch.float8_e4m3fnuz
    return torch.float8_e4m3fn if name.startswith(("gfx95", "gfx12")) else None
