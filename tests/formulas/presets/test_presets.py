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
        ("Tesla V100-SXM2-16GB", "V100 SXM2 16GB"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA RTX A6000", "RTX A6000"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
        ("NVIDIA A800-SXM4-80GB", "A800 SXM 80GB"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("NVIDIA GB10", "GB10"),
        ("AMD Instinct MI250X", "MI250X GCD"),
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
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 3090 Ti",
        "Quadro RTX 6000",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
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


# As printed: TFLOP/s in 16 and in 8 bits, GB, GB/s, W. Those with sparsity are halved here.
@each(
    ("name", "peak", "peak_8bit", "memory", "bandwidth", "power"),
    [
        ("V100 PCIe", 112, 0, 32, 900, 250),
        ("V100 SXM2 16GB", 125, 0, 16, 900, 300),
        ("T4", 65, 0, 16, 320, 70),
        ("RTX 3090", 142 / 2, 0, 24, 936, 350),
        ("RTX A6000", 309.6 / 2, 0, 48, 768, 300),
        ("A40", 299.4 / 2, 0, 48, 696, 300),
        ("A10", 250 / 2, 0, 24, 600, 150),
        ("A10G", 140 / 2, 0, 24, 600, 300),
        ("A100 PCIe 40GB", 624 / 2, 0, 40, 1555, 250),
        ("A100 PCIe 80GB", 624 / 2, 0, 80, 1935, 300),
        ("A800", 624 / 2, 0, 80, 2039, 400),
        ("RTX 4090", 330.4 / 2, 660.6 / 2, 24, 1008, 450),
        ("RTX 6000 Ada", 728.4 / 2, 1457 / 2, 48, 960, 300),
        ("L40", 362.1 / 2, 724 / 2, 48, 864, 300),
        ("L40S", 362.05, 1466 / 2, 48, 864, 350),
        ("L4", 242 / 2, 485 / 2, 24, 300, 72),
        ("GH200", 1979 / 2, 3958 / 2, 96, 4000, 0),
        ("GH200 144GB", 1979 / 2, 3958 / 2, 144, 4900, 0),
        ("RTX 5090", 419 / 2, 838 / 2, 32, 1792, 575),
        ("DGX Spark", 1000 / 8, 1000 / 4, 128, 273, 140),
        ("MI250X", 383, 0, 128, 3276.8, 500),
        ("MI250X GCD", 383 / 2, 0, 128 / 2, 3276.8 / 2, 500 / 2),
    ],
)
def test_a_gpu_of_students_is_what_its_datasheet_prints(
    name: str, peak: float, peak_8bit: float, memory: float, bandwidth: float, power: float
) -> None:
    found = gpu(name)
    assert (found.peak, found.peak_8bit) == pytest.approx((1e12 * peak, 1e12 * peak_8bit), rel=6e-4)
    assert (found.memory, found.memory_bandwidth, found.power) == (1e9 * memory, 1e9 * bandwidth, power)


# Multiplications per tensor core and clock with sums in FP32, and the boost clock in MHz.
@each(
    ("name", "per_clock", "clock"),
    [
        ("V100 PCIe", 64, 1370),
        ("T4", 64, 1590),
        ("RTX 3090", 64, 1695),
        ("RTX A6000", 128, 1800),
        ("A10", 128, 1695),
        ("A10G", 64, 1710),
        ("RTX 4090", 64, 2520),
        ("RTX 6000 Ada", 128, 2505),
        ("L40", 64, 2490),
        ("L40S", 128, 2490),
        ("L4", 128, 2040),
        ("RTX 5090", 64, 2407),
        ("GB10", 128, 2543),
        ("MI250X", 128, 1700),
    ],
)
def test_a_peak_is_what_the_tensor_cores_of_a_gpu_multiply(name: str, per_clock: int, clock: int) -> None:
    found = gpu(name)
    assert found.peak == pytest.approx(2 * per_clock * 1e6 * clock * found.tensor_cores, rel=0.01)


@each(
    ("text", "name"),
    [
        ("4090", "RTX 4090"),
        ("RTX4090", "RTX 4090"),
        ("geforce rtx 4090 24GB", "RTX 4090"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("A6000", "RTX A6000"),
        ("A100-PCIE-40GB", "A100 PCIe 40GB"),
        ("A100 40GB PCIe", "A100 PCIe 40GB"),
        ("A100 SXM4 80GB", "A100 SXM 80GB"),
        ("H100 80GB HBM3", "H100 SXM"),
        ("H100 SXM5 80 GB", "H100 SXM"),
        ("Tesla V100 16GB", "V100 SXM2 16GB"),
        ("Tesla V100-PCIE-32GB", "V100 PCIe"),
        ("GH200 480GB", "GH200"),
        ("dgx spark", "GB10"),
        ("AMD Instinct MI250X", "MI250X"),
        ("l40s", "L40S"),
    ],
)
def test_a_gpu_is_found_as_people_write_it(text: str, name: str) -> None:
    assert gpu(text).name == name


@each("text", ["RTX 4090 48GB", "RTX 4090 D", "RTX 4090 Laptop GPU", "T40", "RTX 6000", "H100 81GB"])
def test_a_gpu_that_is_not_here_is_not_taken_for_another(text: str) -> None:
    with pytest.raises(ValueError, match="no GPU is called"):
        gpu(text)


def test_a_gpu_by_its_name_alone_needs_nothing_else() -> None:
    for one in GPUS.values():
        if one.year >= 2017 and not one.name.startswith(("TPU", "Trainium", "Gaudi")):
            assert Cluster.read(f"1 {one.name}").gpu is one
            assert one.name in CLUSTERS or Cluster.read(one.name).gpus == 1


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


# Nodes of four are those of Perlmutter, Leonardo and JUWELS.
@each(
    ("text", "gpus", "node"),
    [
        ("64 H100", 64, 8),
        ("16 nodes of 4 H100", 64, 4),
        ("16 nodes with 4x H100", 64, 4),
        ("16 nodes x 4 H100", 64, 4),
        ("16 nodes, 4 H100 each", 64, 4),
        ("16x4 A100", 64, 4),
        ("64 H100 (4 per node)", 64, 4),
        ("64 H100, 4 GPUs per node", 64, 4),
        ("64 H100 on 16 nodes", 64, 4),
        ("4 A100 per node, 16 nodes", 64, 4),
        ("4 H100 x 16 nodes", 64, 4),
        ("3 nodes of 1 H100", 3, 1),
        ("2 x 2 x 4090", 4, 2),
        ("8 x 4090", 8, 8),
        ("RTX 4090", 1, 8),
        ("RTX4090x4", 4, 8),
        ("2 DGX Spark", 2, 1),
        ("18 nodes of 4 GB200", 72, 72),
        ("2 nodes of 36 GB200", 72, 36),
    ],
)
def test_a_cluster_has_the_nodes_that_were_written(text: str, gpus: int, node: int) -> None:
    found = Cluster.read(text)
    assert (found.gpus, found.gpus_per_node) == (gpus, node)
    assert Cluster.read(found.text) == found


@each(
    ("text", "says"),
    [
        ("1 RTX 4090", "1 RTX 4090"),
        ("2 RTX 4090", "1 node of 2 RTX 4090; each GPU sends 32 GB/s"),
        ("2 DGX Spark", "2 nodes of 1 GB10; each GPU sends 25 GB/s"),
        (
            "16 nodes of 4 H100",
            "16 nodes of 4 H100 SXM; each GPU sends 450 GB/s inside a node and 50 GB/s between nodes",
        ),
        ("12 RTX 4090", "2 nodes of 6 RTX 4090; each GPU sends 32 GB/s inside a node and 1.56 GB/s between nodes"),
        ("100 GB200", "100 GB200 in racks of 72; each GPU sends 900 GB/s inside a rack and 50 GB/s between racks"),
    ],
)
def test_a_cluster_says_how_it_was_understood(text: str, says: str) -> None:
    assert Cluster.read(text).understood == says


def test_nodes_that_do_not_divide_the_gpus_are_the_largest_that_do_and_say_so() -> None:
    taken = {count: Cluster.read(f"{count} H100") for count in (9, 12, 13, 16)}
    assert {count: one.gpus_per_node for count, one in taken.items()} == {9: 3, 12: 6, 13: 1, 16: 8}
    assert taken[12].uneven == "nodes of 8 do not divide 12 GPUs, so nodes of 6 are taken"
    assert taken[16].uneven == Cluster.read("3 nodes of 4 H100").uneven == ""


def test_a_window_leaves_attention_fewer_keys_in_most_layers() -> None:
    gemma, whole = ModelShape.named("Gemma-3-27B"), ModelShape.named("Qwen3-4B")
    assert whole.keys(65_536) == 65_536
    assert gemma.keys(2048) == 2048
    # A token of a window sees 1,024 before it; with a causal mask alone it would see half of the sequence.
    assert gemma.keys(65_536) == pytest.approx(65_536 / 6 + 5 / 6 * 2048)
    assert ModelShape.named("GPT-OSS-120B").keys(4096) == pytest.approx(4096 / 2 + 256 / 2)
    assert ModelShape.read("Qwen3-4B window=512").keys(4096) == 1024


@each(
    ("text", "says"),
    [
        ("7 H100 on 2 nodes", "nodes must divide the GPUs, 7, not 2"),
        ("1 RTX 4090 Ti", "no GPU is called 'RTX 4090 Ti'; did you mean 'RTX 4090'"),
        ("8 H101", "no GPU is called 'H101'; did you mean 'H100'"),
        ("8 TPU v5p", "the network of a node of TPU v5p is not known: write gpu=TPU v5p gpus=8"),
        ("0 H100", "gpus must be at least 1, not 0"),
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
