"""Accelerators, with the numbers of their datasheets."""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Self

from app.core.formulas.checks import too_large
from app.core.formulas.records import Record
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio, Watts

_GIGA, _TERA = 1e9, 1e12


@dataclass(frozen=True, kw_only=True)
class Gpu(Record):
    """An accelerator.

    *peak* is dense, in 16 bits (BF16; FP16 for V100 and T4, FP32 for K40, which has no tensor cores), at the boost
    clock, summed in FP32; *peak_8bit* and *peak_4bit* are the same in fewer bits, 0 if not supported. *nvlink* is one
    direction, to all peers of the node together. *power* is the GPU's own; 0 if unknown. *sms* are its streaming
    multiprocessors, *dies* the GPUs that PyTorch sees in it. *product_share* is the share of the peak that large
    products reach in training, *product_share_8bit* that in 8 bits, and *memory_share* the share of the memory's
    bandwidth that element-wise kernels reach; 0 if no source gives it. On a board with less power than the chip's
    others, products reach proportionally less.
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
    dies: Count = 1
    product_share: Ratio = 0.0
    product_share_8bit: Ratio = 0.0
    memory_share: Ratio = 0.0
    source: str = "as given"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("product_share", "product_share_8bit", "memory_share"):
            if getattr(self, name) > 1:
                raise too_large(name, getattr(self, name), 1)

    @classmethod
    def named(cls, name: str) -> Self:
        """The GPU called *name* by people or drivers: 4090, NVIDIA GeForce RTX 4090, A100-PCIE-40GB.

        The name may say how much memory the GPU has.

        Raises:
            ValueError: there is none; the message offers the closest name.
        """
        bare = without_vendor(name)
        if not cls.has(bare) and (size := _SIZE.search(bare)) is not None:
            rest = bare[: size.start()] + bare[size.end() :]
            if cls.has(rest) and (found := super().named(rest)).memory == int(size["size"]) * _GIGA:
                return found
        return super().named(bare if cls.has(bare) else name)


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
_IN_FP32 = "products of 16 bits summed in FP32"


def _gpu(
    name: str, year: int, peak: float, memory: float, memory_bandwidth: float, *, source: str,
    peak_8bit: float = 0.0, peak_4bit: float = 0.0, nvlink: float = 0.0, power: float = 0.0, tensor_cores: int = 0,
    sms: int = 0, dies: int = 1, product_share: float = 0.0, product_share_8bit: float = 0.0, memory_share: float = 0.0,
) -> Gpu:  # fmt: skip
    """A GPU, with peaks in TFLOP/s, memory in GB, and bandwidths in GB/s."""
    return Gpu(
        name=name, year=year, peak=peak * _TERA, memory=memory * _GIGA, memory_bandwidth=memory_bandwidth * _GIGA,
        peak_8bit=peak_8bit * _TERA, peak_4bit=peak_4bit * _TERA, nvlink=nvlink * _GIGA, power=power,
        tensor_cores=tensor_cores, sms=sms, dies=dies, product_share=product_share,
        product_share_8bit=product_share_8bit, memory_share=memory_share, source=source,
    )  # fmt: skip


_GPUS = (
    _gpu("K40", 2013, 5.0, 12, 288, power=235, source="NVIDIA Tesla K40 datasheet: FP32 at boost clock (4.29 at base)"),
    _gpu("V100 SXM2", 2017, 125, 32, 900, nvlink=150, power=300, tensor_cores=640, sms=80,
        source="NVIDIA V100 datasheet: FP16, there is no BF16; first sold with 16 GB"),
    _gpu("A100 SXM 40GB", 2020, 312, 40, 1555, nvlink=300, power=400, tensor_cores=432, sms=108, product_share=0.87,
        memory_share=0.60, source=_A100),
    _gpu("A100 SXM 80GB", 2020, 312, 80, 2039, nvlink=300, power=400, tensor_cores=432, sms=108, product_share=0.87,
        memory_share=0.60, source=_A100),
    _gpu("H100 PCIe", 2022, 756, 80, 2000, peak_8bit=1513, power=350, sms=114, source=_H100),
    _gpu("H100 SXM", 2022, 989, 80, 3352, peak_8bit=1979, nvlink=450, power=700, tensor_cores=528, sms=132,
        product_share=0.66, product_share_8bit=0.70, memory_share=0.60,
        source=f"{_H100}; {_SEEN}"),
    _gpu("H800 SXM", 2023, 989, 80, 3352, peak_8bit=1979, nvlink=200, power=700, tensor_cores=528, sms=132,
        product_share=0.66, product_share_8bit=0.70, memory_share=0.60,
        source="H100 with slower NVLink; DeepSeek-V3 report, section 3.2.2: 160 GB/s effective; shares as the H100's"),
    _gpu("H200 SXM", 2024, 989, 141, 4800, peak_8bit=1979, nvlink=450, power=700, tensor_cores=528, sms=132,
        product_share=0.66, product_share_8bit=0.70, memory_share=0.60,
        source=f"{_ML_ENGINEERING}; shares as the H100's, which is the same chip"),
    _gpu("H100 96GB HBM2e 500 W", 2022, 989, 96, 2400, peak_8bit=1979, nvlink=450, power=500, tensor_cores=528, sms=132,
        product_share=0.66, product_share_8bit=0.70, memory_share=0.60,
        source="torchtitan, benchmarks/llama3_h100_202412_torchtitan.md; otherwise as the H100 SXM"),
    _gpu("H100 NVL", 2023, 835, 94, 3900, peak_8bit=1671, nvlink=300, power=400, tensor_cores=528, sms=132,
        source=f"{_H100}, column H100 NVL; NVLink joins two boards"),
    _gpu("H20", 2024, 148, 96, 4000, peak_8bit=296, nvlink=450, power=400, sms=78,
        source="NVIDIA publishes no page of it: pytorch/torchtitan, torchtitan/tools/utils.py, after Tom's Hardware;"
        " memory and links of the HGX H20 specification"),
    _gpu("RTX PRO 6000", 2025, 503.8, 96, 1792, peak_8bit=1007.6, peak_4bit=2015.2, power=600, tensor_cores=752,
        sms=188,
        source="NVIDIA RTX Blackwell PRO GPU architecture, workstation edition: dense, summed in FP32; the server"
        " edition has 1,597 GB/s"),
    _gpu("B200 SXM", 2024, 2250, 180, 8000, peak_8bit=4500, peak_4bit=9000, nvlink=900, power=1000, sms=148,
        source=f"{_ML_ENGINEERING} of the DGX B200; other pages say 192 GB; 4 bits: NVIDIA HGX B200"),
    _gpu("B300 SXM", 2025, 2250, 288, 8000, peak_8bit=4500, peak_4bit=13_500, nvlink=900, sms=148,
        source=f"{_ML_ENGINEERING}; 4 bits: NVIDIA HGX B300"),
    _gpu("GB200", 2024, 2500, 186, 8000, peak_8bit=5000, peak_4bit=10_000, nvlink=900, sms=148,
        source=f"{_ML_ENGINEERING}; per chip; 4 bits: NVIDIA GB200 NVL72"),
    _gpu("GB300", 2025, 2500, 288, 8000, peak_8bit=5000, peak_4bit=15_000, nvlink=900, sms=148,
        source="NVIDIA GB300 NVL72, per chip"),
    _gpu("V100 SXM2 16GB", 2017, 125, 16, 900, nvlink=150, power=300, tensor_cores=640, sms=80,
        source="NVIDIA V100 datasheet: FP16, there is no BF16"),
    _gpu("V100 PCIe", 2017, 112, 32, 900, power=250, tensor_cores=640, sms=80,
        source="NVIDIA V100 datasheet: FP16, there is no BF16"),
    _gpu("V100 PCIe 16GB", 2017, 112, 16, 900, power=250, tensor_cores=640, sms=80,
        source="NVIDIA V100 datasheet: FP16, there is no BF16"),
    _gpu("T4", 2018, 65, 16, 320, power=70, tensor_cores=320, sms=40,
        source="NVIDIA T4 datasheet: FP16, there is no BF16; bandwidth: NVIDIA Turing GPU architecture, appendix B"),
    _gpu("RTX 3090", 2020, 71, 24, 936, power=350, tensor_cores=328, sms=82,
        source=f"NVIDIA Ampere GA102 GPU architecture, appendix A: {_IN_FP32}"),
    _gpu("RTX A6000", 2020, 154.8, 48, 768, power=300, tensor_cores=336, sms=84,
        source=f"NVIDIA Ampere GA102 GPU architecture, appendix C: {_IN_FP32}; a bridge can join two with NVLink"),
    _gpu("A40", 2020, 149.7, 48, 696, power=300, tensor_cores=336, sms=84,
        source=f"NVIDIA A40 datasheet: {_IN_FP32}; a bridge can join two boards with NVLink"),
    _gpu("A10", 2021, 125, 24, 600, power=150, tensor_cores=288, sms=72, source="NVIDIA A10 datasheet: dense"),
    _gpu("A10G", 2021, 70, 24, 600, power=300, tensor_cores=320, sms=80,
        source=f"NVIDIA A10G datasheet, as AWS has it: dense, {_IN_FP32}; another chip than the A10's 125 TFLOP/s"),
    _gpu("A100 PCIe 40GB", 2020, 312, 40, 1555, power=250, tensor_cores=432, sms=108,
        source="NVIDIA A100 datasheet, column PCIe"),
    _gpu("A100 PCIe 80GB", 2021, 312, 80, 1935, power=300, tensor_cores=432, sms=108,
        source="NVIDIA A100 datasheet, column PCIe"),
    _gpu("A800 SXM 80GB", 2022, 312, 80, 2039, nvlink=200, power=400, tensor_cores=432, sms=108, product_share=0.87,
        memory_share=0.60,
        source="NVIDIA A800 datasheet: an A100 with NVLink of 400 GB/s, both ways added; shares as the A100's"),
    _gpu("A800 PCIe 80GB", 2022, 312, 80, 1935, power=300, tensor_cores=432, sms=108,
        source="NVIDIA A800 datasheet, column PCIe"),
    _gpu("RTX 4090", 2022, 165.2, 24, 1008, peak_8bit=330.3, power=450, tensor_cores=512, sms=128,
        source=f"NVIDIA Ada GPU architecture, appendix A: dense, {_IN_FP32}"),
    _gpu("RTX 6000 Ada", 2022, 364.2, 48, 960, peak_8bit=728.5, power=300, tensor_cores=568, sms=142,
        source=f"NVIDIA RTX 6000 Ada Generation datasheet: 1,457 TFLOP/s in 8 bits with sparsity; dense, {_IN_FP32}"),
    _gpu("L40", 2022, 181.05, 48, 864, peak_8bit=362, power=300, tensor_cores=568, sms=142,
        source="NVIDIA L40 datasheet: dense"),
    _gpu("L40S", 2023, 362.05, 48, 864, peak_8bit=733, power=350, tensor_cores=568, sms=142,
        source="NVIDIA L40S datasheet: dense"),
    _gpu("L4", 2023, 121, 24, 300, peak_8bit=242.5, power=72, tensor_cores=232, sms=58,
        source="NVIDIA L4 datasheet: half of the numbers with sparsity, 242 and 485 TFLOP/s"),
    _gpu("GH200", 2023, 989, 96, 4000, peak_8bit=1979, nvlink=450, tensor_cores=528, sms=132,
        source="NVIDIA GH200 Grace Hopper datasheet, HBM3: half of 1,979 TFLOP/s with sparsity; 450 to 1,000 W"),
    _gpu("GH200 144GB", 2024, 989, 144, 4900, peak_8bit=1979, nvlink=450, tensor_cores=528, sms=132,
        source="NVIDIA GH200 Grace Hopper datasheet, HBM3e: half of 1,979 TFLOP/s with sparsity; 450 to 1,000 W"),
    _gpu("RTX 5090", 2025, 209.5, 32, 1792, peak_8bit=419, peak_4bit=1676, power=575, tensor_cores=680, sms=170,
        source=f"NVIDIA RTX Blackwell GPU architecture, appendix A: dense, {_IN_FP32}"),
    _gpu("GB10", 2025, 125, 128, 273, peak_8bit=250, peak_4bit=500, power=140, tensor_cores=192, sms=48,
        source="NVIDIA DGX Spark datasheet: 1 PFLOP/s in 4 bits with sparsity, half of it dense, and half again for"
        " each doubling of the bits; its memory is the CPU's, too"),
    _gpu("MI250X", 2021, 383, 128, 3276.8, power=500, tensor_cores=880, dies=2,
        source="AMD Instinct MI250X datasheet: 560 W at most"),
    _gpu("MI250X GCD", 2021, 191.5, 64, 1638.4, power=250, tensor_cores=440,
        source="AMD Instinct MI250X datasheet: one of its two dies"),
    _gpu("TPU v4", 2021, 275, 32, 1200, power=192,
        source=f"{_ML_ENGINEERING}; Cloud TPU v4 documentation: 192 W at most, measured"),
    _gpu("TPU v5p", 2023, 459, 95, 2765,
        source="Cloud TPU v5p documentation: 1,200 GB/s between chips, both ways added; a pod has 8,960 chips"),
    _gpu("TPU v6e", 2024, 918, 32, 1640, peak_8bit=1836,
        source="Cloud TPU v6e documentation; 8 bits: INT8; 3,584 Gbit/s between chips, both ways added; a pod has"
        " 256 chips"),
    Gpu(name="Trainium2", year=2024, peak=667 * _TERA, peak_8bit=1299 * _TERA, memory=96 * 2.0**30,
        memory_bandwidth=2900 * _GIGA,
        source="AWS Neuron documentation, Trainium2 architecture: dense, all engines of a chip; its eight tensor"
        " engines have 632 TFLOP/s of these"),
    Gpu(name="Trainium3", year=2025, peak=671 * _TERA, peak_8bit=2517 * _TERA, peak_4bit=2517 * _TERA,
        memory=144 * 2.0**30, memory_bandwidth=4900 * _GIGA,
        source="AWS Neuron documentation, Trainium3 architecture: dense; MXFP8 and MXFP4"),
    _gpu("Gaudi 3", 2024, 1835, 128, 3700, peak_8bit=1835, power=900,
        source="Intel Gaudi 3 AI accelerator white paper, HL-325L; at the 1,600 MHz of the boards on sale it is"
        " 1,677 TFLOP/s (stas00/ml-engineering, accelerator chapter)"),
    _gpu("MI300X", 2023, 1300, 192, 5300, peak_8bit=2610, power=750, tensor_cores=1216,
        source=f"{_ML_ENGINEERING}; AMD Instinct MI300X datasheet: 750 W"),
    _gpu("MI325X", 2024, 1300, 256, 6000, peak_8bit=2610, power=1000, tensor_cores=1216,
        source=f"AMD Instinct MI325X datasheet; {_ML_ENGINEERING}"),
    _gpu("MI350X", 2025, 2300, 288, 8000, peak_8bit=4600, peak_4bit=9200, power=1000, tensor_cores=1024,
        source="AMD Instinct MI350X datasheet: dense; 1,024 matrix cores at 2.2 GHz"),
    _gpu("MI355X", 2025, 2500, 288, 8000, peak_8bit=5000, peak_4bit=10_100, power=1400, tensor_cores=1024,
        source=f"AMD Instinct MI355X datasheet: dense; 1,024 matrix cores at 2.4 GHz; {_ML_ENGINEERING}"),
)  # fmt: skip
_SHORT = {
    "V100": "V100 SXM2", "A100": "A100 SXM 80GB", "H100": "H100 SXM", "H800": "H800 SXM", "H200": "H200 SXM",
    "B200": "B200 SXM", "B300": "B300 SXM", "A100 80GB": "A100 SXM 80GB", "A100 40GB": "A100 SXM 40GB",
    "H100 80GB": "H100 SXM", "Trillium": "TPU v6e", "RTX PRO 6000 Blackwell": "RTX PRO 6000", "HL-325L": "Gaudi 3",
    "A800": "A800 SXM 80GB", "A6000": "RTX A6000", "DGX Spark": "GB10",
}  # fmt: skip

GPUS = Gpu.publish(
    {known.name: known for known in _GPUS}
    | {short: known for known in _GPUS for short, name in _SHORT.items() if name == known.name}
)

# The names that nvidia-smi, rocm-smi and torch print, without the vendor's.
_SAME = (
    "T4", "RTX 3090", "RTX 4090", "RTX 5090", "RTX A6000", "A10", "A10G", "A40", "L4", "L40", "L40S", "GB10",
    "H100 PCIe", "H100 NVL", "H20", "GB200", "GB300", "MI300X", "MI325X", "MI350X", "MI355X",
)  # fmt: skip
_PRINTED = {name: name for name in _SAME} | {
    "V100-PCIE-16GB": "V100 PCIe 16GB", "V100-PCIE-32GB": "V100 PCIe", "V100-SXM2-16GB": "V100 SXM2 16GB",
    "V100-SXM2-32GB": "V100 SXM2", "RTX 6000 Ada Generation": "RTX 6000 Ada",
    "RTX PRO 6000 Blackwell Workstation Edition": "RTX PRO 6000", "A100-PCIE-40GB": "A100 PCIe 40GB",
    "A100 80GB PCIe": "A100 PCIe 80GB", "A100-SXM4-40GB": "A100 SXM 40GB", "A100-SXM4-80GB": "A100 SXM 80GB",
    "A100-SXM-80GB": "A100 SXM 80GB", "A800-SXM4-80GB": "A800 SXM 80GB", "A800 80GB PCIe": "A800 PCIe 80GB",
    "H100 80GB HBM3": "H100 SXM", "H800": "H800 SXM", "H200": "H200 SXM", "GH200 480GB": "GH200",
    "GH200 120GB": "GH200", "GH200 144G HBM3e": "GH200 144GB", "B200": "B200 SXM", "B300 SXM6 AC": "B300 SXM",
    "MI250X": "MI250X GCD", "MI250X/MI250": "MI250X GCD", "MI300X OAM": "MI300X", "MI325X OAM": "MI325X",
    "MI350X OAM": "MI350X", "MI355X OAM": "MI355X",
}  # fmt: skip
_VENDORS = re.compile(
    r"^(?:(?:nvidia|geforce|tesla|quadro|amd|radeon|instinct|intel|google|cloud|aws)[\s_-]*)+", re.IGNORECASE
)
_SIZE = re.compile(r"\b(?P<size>\d{1,3}) ?gi?b?\b", re.IGNORECASE)
# What else people call them.
Gpu.aliases = MappingProxyType(
    {printed: name for printed, name in _PRINTED.items() if printed not in GPUS}
    | {name.removeprefix("RTX "): name for name in ("RTX 3090", "RTX 4090", "RTX 5090")}
    | {
        "V100 16GB": "V100 SXM2 16GB",
        "V100 SXM": "V100 SXM2",
        "V100 SXM 16GB": "V100 SXM2 16GB",
        "V100 PCIe 32GB": "V100 PCIe",
        "A100 PCIe": "A100 PCIe 80GB",
        "A100 40GB PCIe": "A100 PCIe 40GB",
        "A100 SXM": "A100 SXM 80GB",
        "A100 SXM4": "A100 SXM 80GB",
        "A800 PCIe": "A800 PCIe 80GB",
        "H100 SXM5": "H100 SXM",
        "GH200 96GB": "GH200",
        "Ada 6000": "RTX 6000 Ada",
    }
)


def without_vendor(name: str) -> str:
    """The *name* of a GPU without the words that say who makes it.

    >>> without_vendor("NVIDIA GeForce RTX 4090")
    'RTX 4090'
    """
    return _VENDORS.sub("", name.strip())


def gpu_printed_as(name: str) -> Gpu | None:
    """The GPU that its driver calls *name*; None if it is not here.

    The name must be exact: an H100 PCIe, or a MIG instance of an H100, is another accelerator.

    >>> gpu_printed_as("NVIDIA H100 80GB HBM3").name
    'H100 SXM'
    >>> gpu_printed_as("NVIDIA H100 80GB HBM3 MIG 1g.10gb")
    """
    return GPUS.get(_PRINTED.get(without_vendor(name), ""))
