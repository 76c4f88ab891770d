"""Accelerators, with the numbers of their datasheets."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Self

from app.formulas.checks import at_least, positive, whole
from app.formulas.records import Record
from app.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Watts

_GIGA, _TERA = 1e9, 1e12


@dataclass(frozen=True, kw_only=True)
class Gpu(Record):
    """An accelerator.

    *peak* is dense, in 16 bits (BF16; FP16 for V100, FP32 for K40, which has no tensor cores), at
    the boost clock; *peak_8bit* is the same in 8 bits, 0 if not supported. *nvlink* is one
    direction, to all peers of the node together. *power* is the GPU's own; 0 if unknown.
    """

    what: ClassVar[str] = "GPU"
    unpublished: ClassVar[frozenset[str]] = frozenset({"power"})

    name: str
    year: Count
    peak: FlopsPerSecond
    peak_8bit: FlopsPerSecond = 0.0
    memory: Bytes
    memory_bandwidth: BytesPerSecond
    nvlink: BytesPerSecond = 0.0
    power: Watts = 0.0
    tensor_cores: Count = 0
    source: str

    def __post_init__(self) -> None:
        whole("year", self.year)
        for name in ("peak", "memory", "memory_bandwidth"):
            positive(name, getattr(self, name))
        for name in ("peak_8bit", "nvlink", "power"):
            at_least(name, getattr(self, name), 0)
        whole("tensor_cores", self.tensor_cores, 0)

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records in this module, by name."""
        return GPUS  # type: ignore[return-value]


_ML_ENGINEERING = "stas00/ml-engineering, accelerator and network chapters, citing the datasheet"
_A100 = "NVIDIA A100 datasheet"
_H100 = "NVIDIA H100 datasheet (dense: half of the numbers with sparsity)"
_GPUS = (
    Gpu(
        name="K40", year=2013, peak=5.0 * _TERA, memory=12 * _GIGA, memory_bandwidth=288 * _GIGA,
        power=235, source="NVIDIA Tesla K40 datasheet: FP32 at boost clock (4.29 at base)",
    ),
    Gpu(
        name="V100 SXM2", year=2017, peak=125 * _TERA, memory=32 * _GIGA, tensor_cores=640,
        memory_bandwidth=900 * _GIGA, nvlink=150 * _GIGA, power=300,
        source="NVIDIA V100 datasheet: FP16, there is no BF16; first sold with 16 GB",
    ),
    Gpu(
        name="A100 SXM 40GB", year=2020, peak=312 * _TERA, memory=40 * _GIGA, tensor_cores=432,
        memory_bandwidth=1555 * _GIGA, nvlink=300 * _GIGA, power=400, source=_A100,
    ),
    Gpu(
        name="A100 SXM 80GB", year=2020, peak=312 * _TERA, memory=80 * _GIGA, tensor_cores=432,
        memory_bandwidth=2039 * _GIGA, nvlink=300 * _GIGA, power=400, source=_A100,
    ),
    Gpu(
        name="H100 PCIe", year=2022, peak=756 * _TERA, peak_8bit=1513 * _TERA, memory=80 * _GIGA,
        memory_bandwidth=2000 * _GIGA, power=350, source=_H100,
    ),
    Gpu(
        name="H100 SXM", year=2022, peak=989 * _TERA, peak_8bit=1979 * _TERA, memory=80 * _GIGA,
        memory_bandwidth=3352 * _GIGA, nvlink=450 * _GIGA, power=700, tensor_cores=528,
        source=_H100,
    ),
    Gpu(
        name="H800 SXM", year=2023, peak=989 * _TERA, peak_8bit=1979 * _TERA, memory=80 * _GIGA,
        memory_bandwidth=3352 * _GIGA, nvlink=200 * _GIGA, power=700, tensor_cores=528,
        source="H100 with slower NVLink; DeepSeek-V3 report, section 3.2.2: 160 GB/s effective",
    ),
    Gpu(
        name="H200 SXM", year=2024, peak=989 * _TERA, peak_8bit=1979 * _TERA, memory=141 * _GIGA,
        memory_bandwidth=4800 * _GIGA, nvlink=450 * _GIGA, power=700, tensor_cores=528,
        source=_ML_ENGINEERING,
    ),
    Gpu(
        name="B200 SXM", year=2024, peak=2250 * _TERA, peak_8bit=4500 * _TERA, memory=180 * _GIGA,
        memory_bandwidth=8000 * _GIGA, nvlink=900 * _GIGA, power=1000,
        source=f"{_ML_ENGINEERING} of the DGX B200; other pages say 192 GB",
    ),
    Gpu(
        name="B300 SXM", year=2025, peak=2250 * _TERA, peak_8bit=4500 * _TERA, memory=288 * _GIGA,
        memory_bandwidth=8000 * _GIGA, nvlink=900 * _GIGA, source=_ML_ENGINEERING,
    ),
    Gpu(
        name="GB200", year=2024, peak=2500 * _TERA, peak_8bit=5000 * _TERA, memory=186 * _GIGA,
        memory_bandwidth=8000 * _GIGA, nvlink=900 * _GIGA, source=f"{_ML_ENGINEERING}; per chip",
    ),
    Gpu(
        name="TPU v4", year=2021, peak=275 * _TERA, memory=32 * _GIGA,
        memory_bandwidth=1200 * _GIGA, power=192,
        source=f"{_ML_ENGINEERING}; Cloud TPU v4 documentation: 192 W at most, measured",
    ),
    Gpu(
        name="TPU v5p", year=2023, peak=459 * _TERA, memory=95 * _GIGA,
        memory_bandwidth=2765 * _GIGA,
        source="Cloud TPU v5p documentation: 1,200 GB/s between chips, both ways added; a pod has"
        " 8,960 chips",
    ),
    Gpu(
        name="MI300X", year=2023, peak=1300 * _TERA, peak_8bit=2610 * _TERA, memory=192 * _GIGA,
        memory_bandwidth=5300 * _GIGA, power=750, tensor_cores=1216,
        source=f"{_ML_ENGINEERING}; AMD Instinct MI300X datasheet: 750 W",
    ),
)  # fmt: skip
_SHORT = {"V100": "V100 SXM2", "A100": "A100 SXM 80GB", "H100": "H100 SXM", "H800": "H800 SXM",
          "H200": "H200 SXM", "B200": "B200 SXM", "B300": "B300 SXM"}  # fmt: skip

GPUS: Mapping[str, Gpu] = MappingProxyType(
    {known.name: known for known in _GPUS}
    | {short: known for known in _GPUS for short, name in _SHORT.items() if name == known.name}
)

# The names that nvidia-smi, rocm-smi and torch print, without the vendor's.
_PRINTED = {
    "V100-SXM2-16GB": "V100 SXM2",
    "V100-SXM2-32GB": "V100 SXM2",
    "A100-SXM4-40GB": "A100 SXM 40GB",
    "A100-SXM4-80GB": "A100 SXM 80GB",
    "A100-SXM-80GB": "A100 SXM 80GB",
    "H100 PCIe": "H100 PCIe",
    "H100 80GB HBM3": "H100 SXM",
    "H800": "H800 SXM",
    "H200": "H200 SXM",
    "B200": "B200 SXM",
    "B300 SXM6 AC": "B300 SXM",
    "GB200": "GB200",
    "MI300X": "MI300X",
    "MI300X OAM": "MI300X",
}
_VENDORS = ("NVIDIA ", "Tesla ", "AMD ", "Instinct ")


def gpu_printed_as(name: str) -> Gpu | None:
    """The GPU that its driver calls *name*; None if it is not here.

    The name must be exact: an H100 NVL, or a MIG instance of an H100, is another accelerator.

    >>> gpu_printed_as("NVIDIA H100 80GB HBM3").name
    'H100 SXM'
    >>> gpu_printed_as("NVIDIA H100 80GB HBM3 MIG 1g.10gb")
    """
    for vendor in _VENDORS:
        name = name.removeprefix(vendor)
    return GPUS.get(_PRINTED.get(name, ""))
