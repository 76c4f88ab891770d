from dataclasses import fields

import pytest

from app.core.formulas.presets import CLUSTERS, GPUS, LINKS, MODELS, cluster, gpu, gpu_printed_as, link, model
from app.core.formulas.presets.clusters import Cluster
from app.core.formulas.presets.gpus import Gpu
from app.core.formulas.presets.layouts import SHARES, Layout, Shares
from app.core.formulas.presets.models import ModelShape
from app.core.formulas.records import Record
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
    assert known.memory_bandwidth == pytest.approx(1e12 * FINER.get(name, row.number("hbm_bw")), rel=1e-12)
    assert known.memory_bandwidth == pytest.approx(1e12 * row.number("hbm_bw"), rel=0.02)
    if row.cells["nvlink_unidir"]:
        assert known.nvlink == 1e9 * row.number("nvlink_unidir") == 1e9 * row.number("nvlink_bidir") / 2
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
    ring = {r.text("link"): r.number("Simple") for r in rows("nccl_tuner_constants") if r.text("algo") == "Ring"}
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
        (gpu, "Voodoo 2", "no GPU is called 'Voodoo 2'; known are K40"),
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
        (ModelShape, "Mixtral-8x7B active_experts=9", "active_experts must be at most the experts, 8"),
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
        ("AMD Instinct MI325X", "MI325X"),
        ("AMD Instinct MI350X", "MI350X"),
        ("AMD Instinct MI355X", "MI355X"),
        ("NVIDIA H20", "H20"),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000"),
    ],
)
def test_a_gpu_is_known_by_the_name_that_its_driver_prints(printed: str, name: str) -> None:
    found = gpu_printed_as(printed)
    assert found
    assert found.name == name


@each(
    "printed",
    [
        "NVIDIA H200 NVL",
        "NVIDIA H800 PCIe",
        "NVIDIA A100-PCIE-40GB",
        "NVIDIA A100 80GB PCIe",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "NVIDIA GeForce RTX 4090",
        "NVIDIA Graphics Device",
        "AMD Instinct MI308X",
        "",
    ],
)
def test_no_other_accelerator_passes_for_one_that_is_known(printed: str) -> None:
    assert gpu_printed_as(printed) is None


@each(
    ("name", "peak", "memory", "bandwidth"),
    [
        ("MI325X", 1.3e15, 256e9, 6e12),
        ("MI350X", 2.3e15, 288e9, 8e12),
        ("MI355X", 2.5e15, 288e9, 8e12),
        ("H20", 148e12, 96e9, 4e12),
        ("H100 NVL", 835e12, 94e9, 3.9e12),
        ("B300", 2.25e15, 288e9, 8e12),
        ("GB300", 2.5e15, 288e9, 8e12),
        ("RTX PRO 6000", 503.8e12, 96e9, 1.792e12),
        ("TPU v6e", 918e12, 32e9, 1.64e12),
        ("Trainium 2", 667e12, 96 * 2**30, 2.9e12),
        ("Trainium 3", 671e12, 144 * 2**30, 4.9e12),
        ("Gaudi3", 1835e12, 128e9, 3.7e12),
    ],
)
def test_dense_peaks_and_memories_of_2025(name: str, peak: float, memory: float, bandwidth: float) -> None:
    found = gpu(name)
    assert (found.peak, found.memory, found.memory_bandwidth) == (peak, memory, bandwidth)


def test_dense_peaks_are_what_the_matrix_cores_do_at_the_boost_clock() -> None:
    for name, clock in (("MI350X", 2.2e9), ("MI355X", 2.4e9)):
        assert gpu(name).peak == pytest.approx(clock * 1024 * 512 * 2, rel=0.01)
    rtx = gpu("RTX PRO 6000")
    assert rtx.peak == pytest.approx(2.617e9 * rtx.sms * 512 * 2, rel=0.001)


@each(
    ("text", "name", "gpus"),
    [
        ("8 H100", "DGX-H100", 8),
        ("8xH100", "DGX-H100", 8),
        ("8 x H100", "DGX-H100", 8),
        ("8×H100s", "DGX-H100", 8),
        ("16 H200", "DGX-H200", 16),
        ("8 MI300X", "MI300X platform", 8),
        ("64 MI355X GPUs", "MI355X platform", 64),
        ("2x8 H100", "DGX-H100", 16),
        ("2 nodes of 8 H100", "DGX-H100", 16),
        ("H100 x 8", "DGX-H100", 8),
        ("H100:4", "DGX-H100", 4),
        ("8 NVIDIA H100 SXM", "DGX-H100", 8),
        ("8 A100 80GB", "DGX-A100", 8),
        ("72 GB200", "DGX-GB200", 72),
        ("8 H20", "HGX-H20", 8),
        ("64 H100", "64 H100", 64),
        ("8 H100 inter_bandwidth=25GB/s", "DGX-H100", 8),
        ("DGX-H100 gpus=8", "DGX-H100", 8),
    ],
)
def test_a_cluster_is_a_number_of_gpus_as_people_write_it(text: str, name: str, gpus: int) -> None:
    found = Cluster.read(text)
    assert (found.name, found.gpus) == (name, gpus)
    assert found.intra_bandwidth == Cluster.named(name).intra_bandwidth


@each(
    ("text", "says"),
    [
        ("8 H101", "no GPU is called 'H101'; did you mean 'H100'"),
        ("8 TPU v5p", "the network of a node of TPU v5p is not known: write gpu=TPU v5p gpus=8"),
        ("0 H100", "gpus must be at least 1, not 0"),
        ("12 H100", "gpus_per_node must divide the GPUs"),
        ("Meta 24K", "no cluster is called 'Meta 24K'"),
    ],
)
def test_a_number_of_gpus_without_a_network_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Cluster.read(text)


@each(
    ("kind", "text", "field"),
    [
        (ModelShape, "Llama-3-8B num_hidden_layers=48", "layers"),
        (ModelShape, "Llama-3-8B n_kv_heads=8", "key_value_heads"),
        (ModelShape, "Llama-3-8B moe_intermediate_size=8", "expert_feed_forward"),
        (Layout, "tp=8", "tensor"),
        (Layout, "pipeline-model-parallel-size=8", "pipeline"),
        (Layout, "seq_length=4096", "sequence"),
        (Layout, "gradient_accumulation_steps=4", "microbatches"),
    ],
)
def test_a_field_of_others_is_offered_as_ours(kind: type[Record], text: str, field: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean '{field}'"):
        kind.read(text)


def test_the_names_that_others_have_are_of_fields_that_exist() -> None:
    for kind in (ModelShape, Layout):
        names = {one.name for one in fields(kind)}
        assert set(kind.elsewhere.values()) <= names
        assert not set(kind.elsewhere) & names
