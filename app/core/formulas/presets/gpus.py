"""Accelerators, with the numbers of their datasheets."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Self

from app.core.formulas.checks import at_least, positive, too_large, whole
from app.core.formulas.records import Record
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio, Watts

_GIGA, _TERA = 1e9, 1e12


@dataclass(frozen=True, kw_only=True)
class Gpu(Record):
    """An accelerator.

    *peak* is dense, in 16 bits (BF16; FP16 for V100, FP32 for K40, which has no tensor cores), at
    the boost clock; *peak_8bit* and *peak_4bit* are the same in fewer bits, 0 if not supported.
    *nvlink* is one direction, to all peers of the node together. *power* is the GPU's own; 0 if
    unknown. *sms* are its streaming multiprocessors. *product_share* is the share of the peak that
    large products reach in training, *product_share_8bit* that in 8 bits, and *memory_share* the
    share of the memory's bandwidth that element-wise kernels reach; 0 if there is no source. With
    less power than the chip's other boards, products reach proportionally less.
    """

    what: ClassVar[str] = "GPU"
    unpublished: ClassVar[frozenset[str]] = frozenset({"power"})

    name: str = "as given"
    year: Count
    peak: FlopsPerSecond
    peak_8bit: FlopsPerSecond = 0.0
    peak_4bit: FlopsPerSecond = 0.0
    memory: Bytes
    memory_bandwidth: BytesPerSecond
    nvlink: BytesPerSecond = 0.0
    power: Watts = 0.0
    tensor_cores: Count = 0
    sms: Count = 0
    product_share: Ratio = 0.0
    product_share_8bit: Ratio = 0.0
    memory_share: Ratio = 0.0
    source: str = "as given"

    def __post_init__(self) -> None:
        whole("year", self.year)
        for name in ("peak", "memory", "memory_bandwidth"):
            positive(name, getattr(self, name))
        for name in ("peak_8bit", "peak_4bit", "nvlink", "power"):
            at_least(name, getattr(self, name), 0)
        for name in ("product_share", "product_share_8bit", "memory_share"):
            if at_least(name, getattr(self, name), 0) > 1:
                raise too_large(name, getattr(self, name), 1)
        whole("tensor_cores", self.tensor_cores, 0)
        whole("sms", self.sms, 0)

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records in this module, by name."""
        return GPUS  # type: ignore[return-value]


_ML_ENGINEERING = "stas00/ml-engineering, accelerator and network chapters, citing the datasheet"
_FITTED = (
    "product and memory shares: the two numbers that agree best with 18 published step times"
    " (arXiv:2104.04473, table 1; arXiv:2205.05198, table 5)"
)
_A100 = f"NVIDIA A100 datasheet; {_FITTED}"
_H100 = "NVIDIA H100 datasheet (dense: half of the numbers with sparsity)"
_SEEN = (
    "product shares: large products on an H100 of 700 W; memory share: taken over from the A100,"
    " as the kernels move the same bytes"
)
_GPUS = (
    Gpu(
        name="K40", year=2013, peak=5.0 * _TERA, memory=12 * _GIGA, memory_bandwidth=288 * _GIGA,
        power=235, source="NVIDIA Tesla K40 datasheet: FP32 at boost clock (4.29 at base)",
    ),
    Gpu(
        name="V100 SXM2", year=2017, peak=125 * _TERA, memory=32 * _GIGA, tensor_cores=640,
        memory_bandwidth=900 * _GIGA, nvlink=150 * _GIGA, power=300, sms=80,
        source="NVIDIA V100 datasheet: FP16, there is no BF16; first sold with 16 GB",
    ),
    Gpu(
        name="A100 SXM 40GB", year=2020, peak=312 * _TERA, memory=40 * _GIGA, tensor_cores=432,
        memory_bandwidth=1555 * _GIGA, nvlink=300 * _GIGA, power=400, sms=108,
        product_share=0.87, memory_share=0.60, source=_A100,
    ),
    Gpu(
        name="A100 SXM 80GB", year=2020, peak=312 * _TERA, memory=80 * _GIGA, tensor_cores=432,
        memory_bandwidth=2039 * _GIGA, nvlink=300 * _GIGA, power=400, sms=108,
        product_share=0.87, memory_share=0.60, source=_A100,
    ),
    Gpu(
        name="H100 PCIe", year=2022, peak=756 * _TERA, peak_8bit=1513 * _TERA, memory=80 * _GIGA,
        memory_bandwidth=2000 * _GIGA, power=350, sms=114, source=_H100,
    ),
    Gpu(
        name="H100 SXM", year=2022, peak=989 * _TERA, peak_8bit=1979 * _TERA, memory=80 * _GIGA,
        memory_bandwidth=3352 * _GIGA, nvlink=450 * _GIGA, power=700, tensor_cores=528,
        sms=132, product_share=0.66, product_share_8bit=0.70, memory_share=0.60,
        source=f"{_H100}; {_SEEN}",
    ),
    Gpu(
        name="H800 SXM", year=2023, peak=989 * _TERA, peak_8bit=1979 * _TERA, memory=80 * _GIGA,
        memory_bandwidth=3352 * _GIGA, nvlink=200 * _GIGA, power=700, tensor_cores=528,
        sms=132, product_share=0.66, product_share_8bit=0.70, memory_share=0.60,
        source="H100 with slower NVLink; DeepSeek-V3 report, section 3.2.2: 160 GB/s effective;"
        " shares as the H100's",
    ),
    Gpu(
        name="H200 SXM", year=2024, peak=989 * _TERA, peak_8bit=1979 * _TERA, memory=141 * _GIGA,
        memory_bandwidth=4800 * _GIGA, nvlink=450 * _GIGA, power=700, tensor_cores=528,
        sms=132, product_share=0.66, product_share_8bit=0.70, memory_share=0.60,
        source=f"{_ML_ENGINEERING}; shares as the H100's, which is the same chip",
    ),
    Gpu(
        name="H100 96GB HBM2e 500 W", year=2022, peak=989 * _TERA, peak_8bit=1979 * _TERA,
        memory=96 * _GIGA, memory_bandwidth=2400 * _GIGA, nvlink=450 * _GIGA, power=500,
        tensor_cores=528, sms=132, product_share=0.66, product_share_8bit=0.70, memory_share=0.60,
        source="torchtitan, benchmarks/llama3_h100_202412_torchtitan.md; otherwise as the H100 SXM",
    ),
    Gpu(
        name="H100 NVL", year=2023, peak=835 * _TERA, peak_8bit=1671 * _TERA, memory=94 * _GIGA,
        memory_bandwidth=3900 * _GIGA, nvlink=300 * _GIGA, power=400, tensor_cores=528, sms=132,
        source=f"{_H100}, column H100 NVL; NVLink joins two boards",
    ),
    Gpu(
        name="H20", year=2024, peak=148 * _TERA, peak_8bit=296 * _TERA, memory=96 * _GIGA,
        memory_bandwidth=4000 * _GIGA, nvlink=450 * _GIGA, power=400, sms=78,
        source="NVIDIA publishes no page of it: pytorch/torchtitan, torchtitan/tools/utils.py,"
        " after Tom's Hardware; memory and links of the HGX H20 specification",
    ),
    Gpu(
        name="RTX PRO 6000", year=2025, peak=503.8 * _TERA, peak_8bit=1007.6 * _TERA,
        peak_4bit=2015.2 * _TERA, memory=96 * _GIGA, memory_bandwidth=1792 * _GIGA, power=600,
        tensor_cores=752, sms=188,
        source="NVIDIA RTX Blackwell PRO GPU architecture, workstation edition: dense, summed in"
        " FP32; the server edition has 1,597 GB/s",
    ),
    Gpu(
        name="B200 SXM", year=2024, peak=2250 * _TERA, peak_8bit=4500 * _TERA,
        peak_4bit=9000 * _TERA, memory=180 * _GIGA, memory_bandwidth=8000 * _GIGA,
        nvlink=900 * _GIGA, power=1000, sms=148,
        source=f"{_ML_ENGINEERING} of the DGX B200; other pages say 192 GB; 4 bits: NVIDIA HGX"
        " B200",
    ),
    Gpu(
        name="B300 SXM", year=2025, peak=2250 * _TERA, peak_8bit=4500 * _TERA,
        peak_4bit=13_500 * _TERA, memory=288 * _GIGA, memory_bandwidth=8000 * _GIGA,
        nvlink=900 * _GIGA, sms=148, source=f"{_ML_ENGINEERING}; 4 bits: NVIDIA HGX B300",
    ),
    Gpu(
        name="GB200", year=2024, peak=2500 * _TERA, peak_8bit=5000 * _TERA,
        peak_4bit=10_000 * _TERA, memory=186 * _GIGA, memory_bandwidth=8000 * _GIGA,
        nvlink=900 * _GIGA, sms=148,
        source=f"{_ML_ENGINEERING}; per chip; 4 bits: NVIDIA GB200 NVL72",
    ),
    Gpu(
        name="GB300", year=2025, peak=2500 * _TERA, peak_8bit=5000 * _TERA,
        peak_4bit=15_000 * _TERA, memory=288 * _GIGA, memory_bandwidth=8000 * _GIGA,
        nvlink=900 * _GIGA, sms=148, source="NVIDIA GB300 NVL72, per chip",
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
        name="TPU v6e", year=2024, peak=918 * _TERA, peak_8bit=1836 * _TERA, memory=32 * _GIGA,
        memory_bandwidth=1640 * _GIGA,
        source="Cloud TPU v6e documentation; 8 bits: INT8; 3,584 Gbit/s between chips, both ways"
        " added; a pod has 256 chips",
    ),
    Gpu(
        name="Trainium2", year=2024, peak=667 * _TERA, peak_8bit=1299 * _TERA,
        memory=96 * 2.0**30, memory_bandwidth=2900 * _GIGA,
        source="AWS Neuron documentation, Trainium2 architecture: dense, all engines of a chip; its"
        " eight tensor engines have 632 TFLOP/s of these",
    ),
    Gpu(
        name="Trainium3", year=2025, peak=671 * _TERA, peak_8bit=2517 * _TERA,
        peak_4bit=2517 * _TERA, memory=144 * 2.0**30, memory_bandwidth=4900 * _GIGA,
        source="AWS Neuron documentation, Trainium3 architecture: dense; MXFP8 and MXFP4",
    ),
    Gpu(
        name="Gaudi 3", year=2024, peak=1835 * _TERA, peak_8bit=1835 * _TERA, memory=128 * _GIGA,
        memory_bandwidth=3700 * _GIGA, power=900,
        source="Intel Gaudi 3 AI accelerator white paper, HL-325L; at the 1,600 MHz of the boards"
        " on sale it is 1,677 TFLOP/s (stas00/ml-engineering, accelerator chapter)",
    ),
    Gpu(
        name="MI300X", year=2023, peak=1300 * _TERA, peak_8bit=2610 * _TERA, memory=192 * _GIGA,
        memory_bandwidth=5300 * _GIGA, power=750, tensor_cores=1216,
        source=f"{_ML_ENGINEERING}; AMD Instinct MI300X datasheet: 750 W",
    ),
    Gpu(
        name="MI325X", year=2024, peak=1300 * _TERA, peak_8bit=2610 * _TERA, memory=256 * _GIGA,
        memory_bandwidth=6000 * _GIGA, power=1000, tensor_cores=1216,
        source=f"AMD Instinct MI325X datasheet; {_ML_ENGINEERING}",
    ),
    Gpu(
        name="MI350X", year=2025, peak=2300 * _TERA, peak_8bit=4600 * _TERA,
        peak_4bit=9200 * _TERA, memory=288 * _GIGA, memory_bandwidth=8000 * _GIGA, power=1000,
        tensor_cores=1024,
        source="AMD Instinct MI350X datasheet: dense; 1,024 matrix cores at 2.2 GHz",
    ),
    Gpu(
        name="MI355X", year=2025, peak=2500 * _TERA, peak_8bit=5000 * _TERA,
        peak_4bit=10_100 * _TERA, memory=288 * _GIGA, memory_bandwidth=8000 * _GIGA, power=1400,
        tensor_cores=1024,
        source=f"AMD Instinct MI355X datasheet: dense; 1,024 matrix cores at 2.4 GHz;"
        f" {_ML_ENGINEERING}",
    ),
)  # fmt: skip
_SHORT = {"V100": "V100 SXM2", "A100": "A100 SXM 80GB", "H100": "H100 SXM", "H800": "H800 SXM",
          "H200": "H200 SXM", "B200": "B200 SXM", "B300": "B300 SXM", "A100 80GB": "A100 SXM 80GB",
          "A100 40GB": "A100 SXM 40GB", "H100 80GB": "H100 SXM", "Trillium": "TPU v6e",
          "RTX PRO 6000 Blackwell": "RTX PRO 6000", "HL-325L": "Gaudi 3"}  # fmt: skip

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
    "GB300": "GB300",
    "MI300X": "MI300X",
    "MI300X OAM": "MI300X",
    "MI325X": "MI325X",
    "MI325X OAM": "MI325X",
    "MI350X": "MI350X",
    "MI350X OAM": "MI350X",
    "MI355X": "MI355X",
    "MI355X OAM": "MI355X",
    "H20": "H20",
    "H100 NVL": "H100 NVL",
    "RTX PRO 6000 Blackwell Workstation Edition": "RTX PRO 6000",
}
_VENDORS = ("NVIDIA ", "Tesla ", "AMD ", "Instinct ")


def gpu_printed_as(name: str) -> Gpu | None:
    """The GPU that its driver calls *name*; None if it is not here.

    The name must be exact: an H100 PCIe, or a MIG instance of an H100, is another accelerator.

    >>> gpu_printed_as("NVIDIA H100 80GB HBM3").name
    'H100 SXM'
    >>> gpu_printed_as("NVIDIA H100 80GB HBM3 MIG 1g.10gb")
    """
    for vendor in _VENDORS:
        name = name.removeprefix(vendor)
    return GPUS.get(_PRINTED.get(name, ""))
