"""The published rows: equal to what was printed, and a file that is not valid says where."""

from dataclasses import asdict
from pathlib import Path

import pytest

from app.core.errors import ContentError, NotFoundError
from app.core.formulas.throughput import model_utilization
from app.core.formulas.transformer import active_parameters, step_flops, token_flops
from app.core.published import PublishedRun, layout_degrees, published_run, published_runs, read_source, sources
from tests.each import each
from tests.tables import Row, rows

# Typed again from the sources: GPUs, sequences per step, degrees, and the numbers.
RETYPED = {
    "megatron-bridge archive L106": (1024, 1536, (8, 8, 2, 8, 1), "FP8", 326, 822),
    "megatron-bridge archive L203": (64, 256, (1, 4, 1, 5, 1), "NVFP4", 7296, 3253),
    "megatron-bridge archive L401": (64, 256, (1, 4, 1, 1, 1), "MXFP8", 4798, 2157),
    "megatron-bridge archive L57": (64, 1280, (1, 1, 1, 1, 16), "MXFP8", 20288, 0),
    "megatron-bridge summary L45": (256, 4096, (1, 2, 1, 8, 32), "MXFP8", 6288, 1635),
    "megatron-bridge summary L74": (256, 8192, (1, 8, 1, 3, 32), "MXFP8", 7280, 1077),
    "torchtitan 2024 table 3 row 3": (128, 256, (1, 1, 1, 1, 1), "FP8", 8380, 0),
    "torchtitan 2025 row 4": (256, 512, (8, 1, 1, 1, 1), "FP8 tensorwise", 942.4, 0),
    "torchtitan H200 row 2": (64, 128, (1, 1, 1, 1, 1), "FP8", 10753, 0),
    "maxtext v5p 1024B 2x v5p-4096": (4096, 8192, (16, 1, 1, 1, 1), "BF16", 0, 279),
    "maxtext v4 22B 8x v4-128": (512, 6656, (1, 1, 1, 1, 1), "BF16", 0, 146),
}
SMALL = """
title: Someone
about: One row.
license: MIT
recipe: gradient_bytes=4
tables: {table: {name: a table, address: "https://example.org"}}
models: {small: Llama-3-8B}
unknown: {odd: it is odd}
machines:
  box: {gpu: H100 SXM, gpus_per_node: 8, intra_bandwidth: 450 GB/s, inter_bandwidth: 50 GB/s}
reasons: {slow: it was slow}
common: {machine: box, release: "1", precision: BF16, sequence: 8192, tensor: 1, zero_stage: 3}
columns: [model, gpus, batch, micro_batch, recompute, seconds, apart]
rows:
  table 1: [small, 8, 16, 2, none, 2.5, [slow]]
"""


def small(folder: Path, text: str) -> tuple[PublishedRun, ...]:
    path = folder / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return read_source(path)[1]


def test_every_source_has_all_its_rows() -> None:
    assert {source.id: len(found) for source, found in sources().items()} == {
        "megatron-bridge": 81,
        "torchtitan": 22,
        "maxtext": 18,
        "megatron-2021": 10,
        "megatron-2022": 8,
        "llama-3": 3,
        "deepseek-v3": 1,
        "mt-nlg": 1,
        "llm-foundry": 40,
        "untuned": 17,
    }
    assert len({run.id for run in published_runs()}) == 201


@each(("name", "typed"), RETYPED.items(), ids=lambda item: str(item)[:40])
def test_a_row_is_what_its_source_prints(name: str, typed: tuple[object, ...]) -> None:
    run, printed = published_run(name), published_run(name).printed
    layout = run.layout
    assert layout
    five = layout.tensor, layout.pipeline, layout.context, layout.virtual, layout.expert
    shown = (run.gpus, run.batch, five, run.precision, printed.token_rate)
    assert (*shown, round(printed.rate / 1e12, 6)) == typed
    assert layout.gpus == run.gpus
    assert layout.tokens == run.tokens


@each("row", rows("megatron_sc21_table1"), ids=lambda row: row.text("params"))
def test_megatrons_weak_scaling_is_table_1(row: Row) -> None:
    found = [run for run in published_runs() if run.source.id == "megatron-2021"]
    (run,) = (run for run in found if run.gpus == row.number("gpus"))
    assert run.layout
    assert (run.batch, run.layout.tensor, run.layout.pipeline) == (
        row.number("batch"),
        row.number("tp"),
        row.number("pp"),
    )
    assert run.printed.rate == 1e12 * row.number("tflops_per_gpu")
    # The same count of FLOP from the paper's percentage of 312 TFLOP/s, as it was rounded.
    assert row.number("pct_peak") == pytest.approx(100 * run.printed.rate / 312e12, abs=0.51)


def test_the_steps_of_selective_recomputation_are_tables_3_and_5() -> None:
    for number, row in enumerate(rows("korthikanti_table3_5"), 1):
        full = published_run(f"megatron-2022 table row {number} full")
        present = published_run(f"megatron-2022 table row {number} present")
        assert (full.step_time, present.step_time) == (row.number("iter_full_recompute"), row.number("iter_present"))
        assert present.printed.utilization == pytest.approx(row.number("mfu") / 100)
        assert present.batch == row.number("global_batch")


def test_torchtitans_rows_are_those_of_its_page() -> None:
    page = [row for row in rows("torchtitan_llama3_h100") if row.number("table") <= 5]
    found = [run for run in published_runs() if run.id.startswith("torchtitan 2024")]
    numbers = sorted((run.printed.token_rate, run.printed.memory / 2**30) for run in found)
    assert numbers == sorted((row.number("tps_per_gpu"), row.number("memory")) for row in page)


def test_llamas_rows_are_table_4() -> None:
    for number, row in enumerate(rows("llama3_table4"), 1):
        run = published_run(f"llama-3 table row {number}")
        assert run.layout
        assert (run.layout.data, run.layout.context) == (row.number("dp"), row.number("cp"))
        assert run.tokens == row.number("tokens_per_batch")
        assert run.printed.utilization == pytest.approx(row.number("bf16_mfu") / 100)
        assert run.printed.rate == 1e12 * row.number("tflops_per_gpu")


def test_the_step_of_megatron_turing_is_that_of_its_own_paper() -> None:
    # Smith et al., arXiv:2201.11990, section 2.4: 60.1 s on 280 servers.
    assert published_run("mt-nlg table row 3").step_time == pytest.approx(60.1, abs=0.05)


def test_tokens_and_flops_of_a_dense_row_agree() -> None:
    """Both columns of NVIDIA's tables are the same step, so the FLOP of a token joins them."""
    dense = [run for run in published_runs() if run.printed.token_rate and run.printed.rate]
    for run in dense:
        shape = run.shape
        if shape is None or shape.experts:
            continue
        flops = token_flops(active_parameters(shape), shape.layers, shape.heads, shape.head_size, run.sequence, True)
        assert run.printed.rate == pytest.approx(flops * run.printed.token_rate, rel=0.04), run.id


def test_the_utilization_of_torchtitans_rows_is_the_one_that_it_states() -> None:
    """33 and 39 %: of all scores, without the input embedding, cut off after the point."""
    used = []
    for number in (1, 2):
        run = published_run(f"torchtitan 2024 table 1 row {number}")
        assert run.shape
        products = active_parameters(run.shape) - 128_256 * 4096
        flops = token_flops(products, 32, 32, 128, 8192, causal=False)
        used.append(model_utilization(flops * run.tokens, run.step_time, run.gpus, 989e12))
    assert [int(100 * share) for share in used] == [33, 39]


def test_what_a_row_leaves_open_is_written_down() -> None:
    for source in sources():
        assert source.assumes or source.id == "deepseek-v3"
        assert source.license
        assert source.about.endswith(".")
    for run in published_runs():
        assert run.apart
        assert run.table.address.startswith("https://")
        assert (run.unknown == "") == (run.layout is not None)


def test_an_unknown_row_offers_the_nearest() -> None:
    with pytest.raises(NotFoundError, match="did you mean 'llama-3 table row 2'"):
        published_run("llama-3 table row 22")


def test_a_small_file_is_read(tmp_path: Path) -> None:
    (run,) = small(tmp_path, SMALL)
    assert (run.step_time, run.tokens, run.apart) == (2.5, 16 * 8192, ("it was slow",))
    assert run.layout
    assert layout_degrees(run.layout) == {"data": 8}
    (odd,) = small(tmp_path, SMALL.replace("[small, 8", "[odd, 8"))
    assert (odd.layout, odd.unknown) == (None, "it is odd")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("16, 2, none, 2.5", "16, 2, none, -1", "row 'table 1', seconds: must be more than 0"),
        ("16, 2, none, 2.5", "16, 2, none, .nan", "row 'table 1', seconds: must be a finite number"),
        ("16, 2, none, 2.5", "16, 2, nothing, 2.5", "row 'table 1', recompute: is .nothing., which is not one"),
        ("16, 2, none, 2.5", "many, 2, none, 2.5", "row 'table 1', batch: must be a whole number, not"),
        ("16, 2, none, 2.5", "17, 2, none, 2.5", "batch: 17 does not divide over 8 ranks"),
        ("tensor: 1", "tensor: 3", "row 'table 1', gpus: 8 is not a multiple of the 3 of a copy"),
        ("recompute, seconds", "recomputed, seconds", "recomputed: .*did you mean 'recompute'"),
        ("2.5, [slow]", "2.5", "row 'table 1': has 6 values for the 7 columns"),
        ("[slow]]", "[slwo]]", "apart: 'slwo' is not in this file; did you mean 'slow'"),
        ("[small, 8", "[smaller, 8", "model: 'smaller' is not in this file; did you mean 'small'"),
        ("box, rel", "bxo, rel", "machine: 'bxo' is not in this file; did you mean 'box'"),
        ("table 1:", "tables 1:", "table: 'tables' is not in this file; did you mean 'table'"),
        ("none, 2.5", "none, null", "tells no time of a step: it needs one of seconds, tokens_per"),
        ("Llama-3-8B", "Llama-3-9B", "no model shape is called 'Llama-3-9B'; did you mean"),
        ("gpu: H100 SXM", "gpu: H101", "no GPU is called 'H101'; did you mean"),
        ("450 GB/s", "450 GB", "cannot read '450 GB'"),
        ("gradient_bytes", "gradients_bytes", "recipe: .* did you mean 'gradient_bytes'"),
        ("license: MIT", "licenses: MIT", "licenses: .*did you mean 'license'"),
    ],
)
def test_a_file_that_is_not_valid_says_where(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in SMALL
    with pytest.raises(ContentError, match=says) as caught:
        small(tmp_path, SMALL.replace(old, new))
    problem = caught.value.problems[0]
    assert problem.path == tmp_path / "small.yaml"
    assert problem.line in (5, 14, 15) or "license" in says


def test_all_problems_of_a_file_are_listed(tmp_path: Path) -> None:
    text = SMALL + "  table 2: [small, 8, 0, 2, none, 2.5, []]\n  table 3: [small]\n"
    with pytest.raises(ContentError) as caught:
        small(tmp_path, text)
    assert [problem.line for problem in caught.value.problems] == [16, 17]


def test_a_layout_that_cannot_exist_is_not_predicted(tmp_path: Path) -> None:
    text = SMALL.replace("tensor: 1,", "tensor: 1, expert: 3,")
    (run,) = small(tmp_path, text)
    assert run.layout is None
    assert "expert must divide" in run.unknown


@each(
    ("column", "value", "seconds"),
    [
        ("seconds", 2.5, 2.5),
        ("tokens_per_second", 1000, 16 * 8192 / 8000),
        ("tokens_per_second_of_all", 8000, 16 * 8192 / 8000),
        ("hours_per_trillion", 1e6, 1e6 * 3600 / 8 * 16 * 8192 / 1e12),
    ],
)
def test_the_time_of_a_step_is_that_of_the_number_that_a_row_has(
    column: str, value: float, seconds: float, tmp_path: Path
) -> None:
    (run,) = small(tmp_path, SMALL.replace("seconds", column).replace("2.5", str(value)))
    assert run.step_time == pytest.approx(seconds)


@each("counts", ["causal", "recomputed"])
def test_a_rate_tells_the_time_by_the_flops_that_its_source_counts(counts: str, tmp_path: Path) -> None:
    text = (
        SMALL.replace("seconds", "teraflops")
        .replace("2.5", "400")
        .replace("license: MIT", f"license: MIT\ncounts: {counts}")
    )
    (run,) = small(tmp_path, text)
    assert run.shape
    shape = run.shape
    flops = (
        step_flops(16, 8192, shape.layers, shape.hidden, shape.vocabulary, "full")
        if counts == "recomputed"
        else 16
        * 8192
        * token_flops(active_parameters(shape), shape.layers, shape.heads, shape.head_size, 8192, causal=True)
    )
    assert run.step_time == pytest.approx(flops / (400e12 * 8))


def test_what_was_printed_is_in_base_units_and_what_was_not_is_nothing(tmp_path: Path) -> None:
    for column, value, name, base in (
        ("mfu", 45, "utilization", 0.45),
        ("memory", 70, "memory", 70 * 2**30),
        ("gpu_hours", 1e6, "gpu_hours", 1e6),
        ("trillion_tokens", 15, "run_tokens", 15e12),
        ("teraflops", 400, "rate", 4e14),
    ):
        (run,) = small(tmp_path, SMALL.replace("seconds", f"seconds, {column}").replace("2.5", f"2.5, {value}"))
        numbers = asdict(run.printed)
        assert numbers.pop(name) == pytest.approx(base)
        assert numbers.pop("seconds") == run.step_time == 2.5
        assert not any(numbers.values())


@each(
    ("precision", "kind"),
    [("BF16", "16 bits"), ("FP16", "16 bits"), ("FP8", "8 and 4 bits"), ("NVFP4", "8 and 4 bits")],
)
def test_runs_are_of_a_kind_by_their_stack_and_their_bits(precision: str, kind: str, tmp_path: Path) -> None:
    (run,) = small(tmp_path, SMALL.replace("BF16", precision))
    assert run.kind.endswith(f", {kind}")
