"""Which products a check of a number format lets pass."""

import pytest
import torch

from app.labs.ranks.formats import FORMATS, flags, is_right, multiply_into, operands, use
from tests.each import each

CPU = torch.device("cpu")
_DROPPED = 13  # of the 23 bits of FP32's mantissa, TF32 keeps the first ten


def in_tf32(one: torch.Tensor, other: torch.Tensor, out: torch.Tensor) -> None:
    multiply_into(_rounded(one), _rounded(other), out)


def _rounded(matrix: torch.Tensor) -> torch.Tensor:
    """As the tensor cores take it: the nearest number with ten bits of mantissa."""
    bits = matrix.view(torch.int32) + (1 << (_DROPPED - 1))
    return (bits & -(1 << _DROPPED)).view(torch.float32)


def by_one_seventh(one: torch.Tensor, other: torch.Tensor, out: torch.Tensor) -> None:
    multiply_into(one, other, out)
    out.mul_(8 / 7)


@each("side", [16, 128, 1024])
def test_a_product_in_tf32_does_not_pass_for_one_in_fp32(side: int) -> None:
    assert is_right("fp32", torch.float32, side, CPU)
    assert not is_right("fp32", torch.float32, side, CPU, in_tf32)
    assert is_right("tf32", torch.float32, side, CPU, in_tf32)
    assert not is_right("tf32", torch.float32, side, CPU)


@each("name", FORMATS)
def test_right_products_pass_in_every_format_and_wrong_ones_in_none(name: str) -> None:
    right = in_tf32 if name == "tf32" else multiply_into
    for seed in range(20):
        torch.manual_seed(seed)
        assert is_right(name, FORMATS[name], 64, CPU, right)
        assert not is_right(name, FORMATS[name], 64, CPU, by_one_seventh)


def test_a_format_sets_the_flags_whatever_they_were() -> None:
    matmul = torch.backends.cuda.matmul
    matmul.allow_tf32 = True  # as with TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1, in containers of NVIDIA
    matmul.allow_bf16_reduced_precision_reduction = True
    matmul.allow_fp16_reduced_precision_reduction = True
    assert flags() == "FP32 rounded to TF32, 16-bit products summed in FP32"
    assert use("fp32") is torch.float32
    assert not matmul.allow_tf32  # torch raises an error where its two flags disagree
    assert torch.get_float32_matmul_precision() == "highest"
    assert not matmul.allow_bf16_reduced_precision_reduction
    assert not matmul.allow_fp16_reduced_precision_reduction
    assert flags() == "FP32 as it is, 16-bit products summed in FP32"
    assert use("bf16") is torch.bfloat16


def test_a_format_that_the_device_lacks_is_refused_with_words() -> None:
    with pytest.raises(ValueError, match="tf32: only NVIDIA GPUs have it"):
        use("tf32")
    with pytest.raises(ValueError, match="fp8: NVIDIA GPUs have products of it from"):
        use("fp8")
    with pytest.raises(ValueError, match="a side must be a multiple of 16, not 100"):
        operands(FORMATS["fp8"], 100, CPU)


def test_operands_are_random_and_of_the_format() -> None:
    one, other, out = operands(FORMATS["fp8"], 32, CPU)
    assert (one.dtype, other.dtype, out.dtype) == (FORMATS["fp8"], FORMATS["fp8"], torch.bfloat16)
    assert other.stride() == (1, 32)  # by columns, as its products need it
    multiply_into(one, other, out)
    assert torch.allclose(out.float(), one.float() @ other.float(), rtol=0.02, atol=0.1)
