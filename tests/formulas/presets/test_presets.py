import pytest

from app.formulas.presets import (
    CLUSTERS,
    GPUS,
    LINKS,
    MODELS,
    cluster,
    gpu,
    gpu_printed_as,
    link,
    model,
)
from app.formulas.presets.clusters import Cluster
from app.formulas.presets.gpus import Gpu
from app.formulas.presets.models import ModelShape
from app.formulas.presets.shares import SHARES, Shares
from app.formulas.records import Record
from tests.each import each
from tests.tables import Row, rows

CALLED = {"V100 SXM2 (fp16)": "V100 SXM2", "GB200 (per chip)": "GB200"}
# Data sheets print these with more digits than the survey, which rounds.
FINER = {"A100 SXM 80GB": 2.039, "H100 SXM": 3.352, "TPU v5p": 2.765}


@each("row", rows("gpu_datasheets"), ids=lambda row: row.text("gpu"))
def test_a_gpu_is_what_its_data_sheet_says(row: Row) -> None:
    name = CALLED.get(row.text("gpu"), row.text("gpu"))
    known = gpu(name)
    assert known.peak == 1e12 * row.number("bf16_dense")
    assert known.memory == 1e9 * row.number("memory")
    assert known.memory_bandwidth == pytest.approx(
        1e12 * FINER.get(name, row.number("hbm_bw")), rel=1e-12
    )
    assert known.memory_bandwidth == pytest.approx(1e12 * row.number("hbm_bw"), rel=0.02)
    if row.cells["nvlink_unidir"]:
        assert (
            known.nvlink
            == 1e9 * row.number("nvlink_unidir")
            == 1e9 * row.number("nvlink_bidir") / 2
        )
    if row.cells["fp8_dense"]:
        assert known.peak_8bit == 1e12 * row.number("fp8_dense")
    if row.cells["fma_per_tc_clk"]:
        cycles = 1e6 * row.number("clock") * row.number("sm_tensor_cores")
        assert known.peak == pytest.approx(2 * row.number("fma_per_tc_clk") * cycles, rel=6e-3)


def test_the_tpu_agrees_with_the_book_on_its_own_hardware() -> None:
    book = next(row for row in rows("tpu_scaling_book") if row.text("tpu") == "v5p")
    assert gpu("TPU v5p").peak == book.number("bf16")
    assert gpu("TPU v5p").memory == pytest.approx(1e9 * book.number("hbm"), rel=0.02)
    # A torus of three dimensions: six links; the documentation rounds each up to 100 GB/s.
    wired = 6 * book.number("ici_oneway")
    assert wired == 3 * book.number("ici_bidi")
    assert wired <= link("TPU v5p ICI").bandwidth == pytest.approx(wired, rel=0.12)


def test_latencies_of_links_are_those_of_nccls_tuner() -> None:
    ring = {
        r.text("link"): r.number("Simple")
        for r in rows("nccl_tuner_constants")
        if r.text("algo") == "Ring"
    }
    for known in LINKS.values():
        if known.name.startswith("NVLink"):
            assert known.latency == pytest.approx(1e-6 * ring["NVLINK hop"], rel=1e-12)
        if "network" in known.name:
            assert known.latency == pytest.approx(1e-6 * ring["NET hop"], rel=1e-12)


def test_links_say_what_nccl_reaches_beside_the_wire() -> None:
    table = {row.text("gpu"): row for row in rows("nvlink_effective_bandwidth")}
    for name, gpu_name in (("NVLink 4", "H100 NVLink4"), ("NVLink 3", "A100 NVLink3")):
        assert link(name).bandwidth == 1e9 * table[gpu_name].number("line_rate_per_direction")
        assert link(name).effective == 1e9 * table[gpu_name].number("effective_busbw")


def test_dense_peaks_grew_450_times_from_k40_to_b200() -> None:
    assert gpu("B200").peak / gpu("K40").peak == 450


def test_metas_cluster_has_its_levels() -> None:
    meta = cluster("Meta 24K H100")
    assert meta.levels == (("node", 8), ("rack", 16), ("pod", 3072), ("cluster", 24576))
    assert meta.memory == pytest.approx(1.966e15, rel=1e-4)
    assert meta.peak == pytest.approx(24.3e18, rel=1e-3)
    assert meta.cross_pod_bandwidth == pytest.approx(7.14e9, rel=1e-3)
    assert meta.gpus % meta.pod == 0


@each(
    "known",
    [*GPUS.values(), *LINKS.values(), *CLUSTERS.values(), *MODELS.values(), *SHARES.values()],
    ids=lambda known: known.name,
)
def test_every_record_names_its_source_and_reads_back(known: Record) -> None:
    assert len(known.source) > 5  # type: ignore[attr-defined]
    assert type(known).read(known.text) == known


@each(
    ("call", "name", "says"),
    [
        (gpu, "H10", "no GPU is called 'H10'; did you mean 'H100'"),
        (gpu, "RTX 4090", "no GPU is called 'RTX 4090'; known are K40"),
        (link, "NVLink4x", "did you mean 'NVLink 4'"),
        (cluster, "Meta 24K", "did you mean 'Meta 24K H100'"),
        (model, "Llama-3.1-406B", "did you mean 'Llama-3.1-405B'"),
        (model, "", "no model shape is called ''"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(call: object, name: str, says: str) -> None:
    with pytest.raises(ValueError, match="is called") as refused:
        call(name)  # type: ignore[operator]
    assert says in str(refused.value)


def test_names_are_found_however_they_are_written() -> None:
    assert gpu("h100 sxm") is gpu("H100") is gpu("H100-SXM")
    assert model("llama 3.1 405b") is model("Llama-3.1-405B") is model("405B")


def test_a_record_may_be_changed_in_some_fields() -> None:
    deeper = ModelShape.read("Llama-3.1-8B layers=40 hidden=5120")
    assert (deeper.layers, deeper.hidden, deeper.heads) == (40, 5120, 32)
    fewer = Cluster.read("64 H100 gpus=32, inter_bandwidth=400 Gbit/s gpu=A100 SXM 80GB")
    assert (fewer.gpus, fewer.inter_bandwidth, fewer.gpu.name) == (32, 50e9, "A100 SXM 80GB")
    assert Cluster.read(fewer.text) == fewer


@each(
    ("kind", "text", "says"),
    [
        (ModelShape, "Llama-3.1-8B layer=40", "no field 'layer'; did you mean 'layers'"),
        (ModelShape, "Llama-3.1-8B layers=2.5", "layers must be a whole number, not 2.5"),
        (ModelShape, "Llama-3.1-8B layers=forty", "layers: cannot read 'forty'"),
        (ModelShape, "layers=40", "a model shape also needs hidden"),
        (ModelShape, "Llama-3.1-8B biases=some", "biases must be one of none, qkv, all"),
        (ModelShape, "Llama-3.1-8B key_value_heads=7", "key_value_heads must divide the heads"),
        (
            ModelShape,
            "Mixtral-8x7B active_experts=9",
            "active_experts must be at most the experts, 8",
        ),
        (ModelShape, "DeepSeek-V3 layers=2", "dense_layers must be at most the layers, 2"),
        (ModelShape, "Llama-3.1-8B feed_forward=0", "feed_forward must be at least 1"),
        (Cluster, "64 H100 gpus=60", "gpus_per_node must divide the GPUs, 60"),
        (Cluster, "64 H100 gpu=H99", "no GPU is called 'H99'"),
        (Gpu, "H100 product_share=1.2", "product_share must be at most 1, not 1.2"),
        (Shares, "hidden_data=-0.5", "hidden_data must be a number of at least 0, not -0.5"),
        (Shares, "inter=1.5", "inter must be at most 1, not 1.5"),
        (Shares, "kernels=flash", "kernels must be one of as usual, unfused, fused"),
        (Gpu, "H100 memory=80 s", "memory: cannot read '80 s'"),
    ],
)
def test_an_impossible_record_is_refused_by_field(kind: type[Record], text: str, says: str) -> None:
    with pytest.raises(ValueError, match=".") as refused:
        kind.read(text)
    assert says in str(refused.value)


@each(
    ("printed", "name"),
    [
        ("Tesla V100-SXM2-16GB", "V100 SXM2"),
        ("Tesla V100-SXM2-32GB", "V100 SXM2"),
        ("NVIDIA A100-SXM4-40GB", "A100 SXM 40GB"),
        ("A100-SXM4-40GB", "A100 SXM 40GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"),
        ("NVIDIA A100-SXM-80GB", "A100 SXM 80GB"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H800", "H800 SXM"),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA B200", "B200 SXM"),
        ("NVIDIA B300 SXM6 AC", "B300 SXM"),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA GB300", "GB300"),
        ("AMD Instinct MI300X", "MI300X"),
        ("AMD Instinct MI300X OAM", "MI300X"),
    ],
)
def test_a_gpu_is_known_by_the_name_that_its_driver_prints(printed: str, name: str) -> None:
    found = gpu_printed_as(printed)
    assert found
    assert found.name == name


@each(
    "printed",
    [
        "NVIDIA H100 NVL",
        "NVIDIA H200 NVL",
        "NVIDIA H800 PCIe",
        "NVIDIA A100-PCIE-40GB",
        "NVIDIA A100 80GB PCIe",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "NVIDIA GeForce RTX 4090",
        "NVIDIA Graphics Device",
        "AMD Instinct MI325X",
        "",
    ],
)
def test_no_other_accelerator_passes_for_one_that_is_known(printed: str) -> None:
    assert gpu_printed_as(printed) is None
