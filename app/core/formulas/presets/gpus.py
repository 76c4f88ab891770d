"""Accelerators, with the numbers of their datasheets."""

import re
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

    *peak* is dense, in 16 bits (BF16; FP16 for V100 and T4, FP32 for K40, which has no tensor
    cores), at the boost clock, summed in FP32; *peak_8bit* and *peak_4bit* are the same in fewer
    bits, 0 if not supported. *nvlink* is one direction, to all peers of the node together. *power*
    is the GPU's own; 0 if unknown. *sms* are its streaming multiprocessors, *dies* the GPUs that
    PyTorch sees in it. *product_share* is the share of the peak that large products reach in
    training, *product_share_8bit* that in 8 bits, and *memory_share* the share of the memory's
    bandwidth that element-wise kernels reach; 0 if there is no source. With less power than the
    chip's other boards, products reach proportionally less.
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
        whole("dies", self.dies)

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records in this module, by name."""
        return GPUS  # type: ignore[return-value]

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
        name="V100 SXM2 16GB", year=2017, peak=125 * _TERA, memory=16 * _GIGA, tensor_cores=640,
        memory_bandwidth=900 * _GIGA, nvlink=150 * _GIGA, power=300, sms=80,
        source="NVIDIA V100 datasheet: FP16, there is no BF16",
    ),
    Gpu(
        name="V100 PCIe", year=2017, peak=112 * _TERA, memory=32 * _GIGA, tensor_cores=640,
        memory_bandwidth=900 * _GIGA, power=250, sms=80, source="NVIDIA V100 datasheet: FP16, there is no BF16",
    ),
    Gpu(
        name="V100 PCIe 16GB", year=2017, peak=112 * _TERA, memory=16 * _GIGA, tensor_cores=640,
        memory_bandwidth=900 * _GIGA, power=250, sms=80, source="NVIDIA V100 datasheet: FP16, there is no BF16",
    ),
    Gpu(
        name="T4", year=2018, peak=65 * _TERA, memory=16 * _GIGA, memory_bandwidth=320 * _GIGA, power=70,
        tensor_cores=320, sms=40,
        source="NVIDIA T4 datasheet: FP16, there is no BF16; bandwidth: NVIDIA Turing GPU architecture, appendix B",
    ),
    Gpu(
        name="RTX 3090", year=2020, peak=71 * _TERA, memory=24 * _GIGA, memory_bandwidth=936 * _GIGA, power=350,
        tensor_cores=328, sms=82, source=f"NVIDIA Ampere GA102 GPU architecture, appendix A: {_IN_FP32}",
    ),
    Gpu(
        name="RTX A6000", year=2020, peak=154.8 * _TERA, memory=48 * _GIGA, memory_bandwidth=768 * _GIGA, power=300,
        tensor_cores=336, sms=84,
        source=f"NVIDIA Ampere GA102 GPU architecture, appendix C: {_IN_FP32}; a bridge can join two with NVLink",
    ),
    Gpu(
        name="A40", year=2020, peak=149.7 * _TERA, memory=48 * _GIGA, memory_bandwidth=696 * _GIGA, power=300,
        tensor_cores=336, sms=84, source=f"NVIDIA A40 datasheet: {_IN_FP32}; a bridge can join two boards with NVLink",
    ),
    Gpu(
        name="A10", year=2021, peak=125 * _TERA, memory=24 * _GIGA, memory_bandwidth=600 * _GIGA, power=150,
        tensor_cores=288, sms=72, source="NVIDIA A10 datasheet: dense",
    ),
    Gpu(
        name="A10G", year=2021, peak=70 * _TERA, memory=24 * _GIGA, memory_bandwidth=600 * _GIGA, power=300,
        tensor_cores=320, sms=80,
        source=f"NVIDIA A10G datasheet, as AWS has it: dense, {_IN_FP32}; another chip than the A10's 125 TFLOP/s",
    ),
    Gpu(
        name="A100 PCIe 40GB", year=2020, peak=312 * _TERA, memory=40 * _GIGA, tensor_cores=432,
        memory_bandwidth=1555 * _GIGA, power=250, sms=108, source="NVIDIA A100 datasheet, column PCIe",
    ),
    Gpu(
        name="A100 PCIe 80GB", year=2021, peak=312 * _TERA, memory=80 * _GIGA, tensor_cores=432,
        memory_bandwidth=1935 * _GIGA, power=300, sms=108, source="NVIDIA A100 datasheet, column PCIe",
    ),
    Gpu(
        name="A800 SXM 80GB", year=2022, peak=312 * _TERA, memory=80 * _GIGA, tensor_cores=432,
        memory_bandwidth=2039 * _GIGA, nvlink=200 * _GIGA, power=400, sms=108,
        product_share=0.87, memory_share=0.60,
        source="NVIDIA A800 datasheet: an A100 with NVLink of 400 GB/s, both ways added; shares as the A100's",
    ),
    Gpu(
        name="A800 PCIe 80GB", year=2022, peak=312 * _TERA, memory=80 * _GIGA, tensor_cores=432,
        memory_bandwidth=1935 * _GIGA, power=300, sms=108, source="NVIDIA A800 datasheet, column PCIe",
    ),
    Gpu(
        name="RTX 4090", year=2022, peak=165.2 * _TERA, peak_8bit=330.3 * _TERA, memory=24 * _GIGA,
        memory_bandwidth=1008 * _GIGA, power=450, tensor_cores=512, sms=128,
        source=f"NVIDIA Ada GPU architecture, appendix A: dense, {_IN_FP32}",
    ),
    Gpu(
        name="RTX 6000 Ada", year=2022, peak=364.2 * _TERA, peak_8bit=728.5 * _TERA, memory=48 * _GIGA,
        memory_bandwidth=960 * _GIGA, power=300, tensor_cores=568, sms=142,
        source=f"NVIDIA RTX 6000 Ada Generation datasheet: 1,457 TFLOP/s in 8 bits with sparsity; dense, {_IN_FP32}",
    ),
    Gpu(
        name="L40", year=2022, peak=181.05 * _TERA, peak_8bit=362 * _TERA, memory=48 * _GIGA,
        memory_bandwidth=864 * _GIGA, power=300, tensor_cores=568, sms=142, source="NVIDIA L40 datasheet: dense",
    ),
    Gpu(
        name="L40S", year=2023, peak=362.05 * _TERA, peak_8bit=733 * _TERA, memory=48 * _GIGA,
        memory_bandwidth=864 * _GIGA, power=350, tensor_cores=568, sms=142, source="NVIDIA L40S datasheet: dense",
    ),
    Gpu(
        name="L4", year=2023, peak=121 * _TERA, peak_8bit=242.5 * _TERA, memory=24 * _GIGA,
        memory_bandwidth=300 * _GIGA, power=72, tensor_cores=232, sms=58,
        source="NVIDIA L4 datasheet: half of the numbers with sparsity, 242 and 485 TFLOP/s",
    ),
    Gpu(
        name="GH200", year=2023, peak=989 * _TERA, peak_8bit=1979 * _TERA, memory=96 * _GIGA,
        memory_bandwidth=4000 * _GIGA, nvlink=450 * _GIGA, tensor_cores=528, sms=132,
        source="NVIDIA GH200 Grace Hopper datasheet, HBM3: half of 1,979 TFLOP/s with sparsity; 450 to 1,000 W",
    ),
    Gpu(
        name="GH200 144GB", year=2024, peak=989 * _TERA, peak_8bit=1979 * _TERA, memory=144 * _GIGA,
        memory_bandwidth=4900 * _GIGA, nvlink=450 * _GIGA, tensor_cores=528, sms=132,
        source="NVIDIA GH200 Grace Hopper datasheet, HBM3e: half of 1,979 TFLOP/s with sparsity; 450 to 1,000 W",
    ),
    Gpu(
        name="RTX 5090", year=2025, peak=209.5 * _TERA, peak_8bit=419 * _TERA, peak_4bit=1676 * _TERA,
        memory=32 * _GIGA, memory_bandwidth=1792 * _GIGA, power=575, tensor_cores=680, sms=170,
        source=f"NVIDIA RTX Blackwell GPU architecture, appendix A: dense, {_IN_FP32}",
    ),
    Gpu(
        name="GB10", year=2025, peak=125 * _TERA, peak_8bit=250 * _TERA, peak_4bit=500 * _TERA, memory=128 * _GIGA,
        memory_bandwidth=273 * _GIGA, power=140, tensor_cores=192, sms=48,
        source="NVIDIA DGX Spark datasheet: 1 PFLOP/s in 4 bits with sparsity, half of it dense, and half again for"
        " each doubling of the bits; its memory is the CPU's, too",
    ),
    Gpu(
        name="MI250X", year=2021, peak=383 * _TERA, memory=128 * _GIGA, memory_bandwidth=3276.8 * _GIGA,
        power=500, tensor_cores=880, dies=2, source="AMD Instinct MI250X datasheet: 560 W at most",
    ),
    Gpu(
        name="MI250X GCD", year=2021, peak=191.5 * _TERA, memory=64 * _GIGA, memory_bandwidth=1638.4 * _GIGA,
        power=250, tensor_cores=440, source="AMD Instinct MI250X datasheet: one of its two dies",
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
          "RTX PRO 6000 Blackwell": "RTX PRO 6000", "HL-325L": "Gaudi 3", "A800": "A800 SXM 80GB",
          "A6000": "RTX A6000", "DGX Spark": "GB10"}  # fmt: skip

GPUS: Mapping[str, Gpu] = MappingProxyType(
    {known.name: known for known in _GPUS}
    | {short: known for known in _GPUS for short, name in _SHORT.items() if name == known.name}
)

# The names that nvidia-smi, rocm-smi and torch print, without the vendor's.
_PRINTED = {
    "T4": "T4",
    "V100-PCIE-16GB": "V100 PCIe 16GB",
    "V100-PCIE-32GB": "V100 PCIe",
    "V100-SXM2-16GB": "V100 SXM2 16GB",
    "V100-SXM2-32GB": "V100 SXM2",
    "RTX 3090": "RTX 3090",
    "RTX 4090": "RTX 4090",
    "RTX 5090": "RTX 5090",
    "RTX A6000": "RTX A6000",
    "RTX 6000 Ada Generation": "RTX 6000 Ada",
    "RTX PRO 6000 Blackwell Workstation Edition": "RTX PRO 6000",
    "A10": "A10",
    "A10G": "A10G",
    "A40": "A40",
    "L4": "L4",
    "L40": "L40",
    "L40S": "L40S",
    "GB10": "GB10",
    "A100-PCIE-40GB": "A100 PCIe 40GB",
    "A100 80GB PCIe": "A100 PCIe 80GB",
    "A100-SXM4-40GB": "A100 SXM 40GB",
    "A100-SXM4-80GB": "A100 SXM 80GB",
    "A100-SXM-80GB": "A100 SXM 80GB",
    "A800-SXM4-80GB": "A800 SXM 80GB",
    "A800 80GB PCIe": "A800 PCIe 80GB",
    "H100 PCIe": "H100 PCIe",
    "H100 80GB HBM3": "H100 SXM",
    "H100 NVL": "H100 NVL",
    "H800": "H800 SXM",
    "H200": "H200 SXM",
    "H20": "H20",
    "GH200 480GB": "GH200",
    "GH200 120GB": "GH200",
    "GH200 144G HBM3e": "GH200 144GB",
    "B200": "B200 SXM",
    "B300 SXM6 AC": "B300 SXM",
    "GB200": "GB200",
    "GB300": "GB300",
    "MI250X": "MI250X GCD",
    "MI250X/MI250": "MI250X GCD",
    "MI300X": "MI300X",
    "MI300X OAM": "MI300X",
    "MI325X": "MI325X",
    "MI325X OAM": "MI325X",
    "MI350X": "MI350X",
    "MI350X OAM": "MI350X",
    "MI355X": "MI355X",
    "MI355X OAM": "MI355X",
}
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
