"""The numbers on a line of a step, what a log says once, and what follows for the MFU."""

from collections.abc import Mapping

import pytest

from app.core.measurements.logs.families import LOG_FAMILIES
from app.core.measurements.logs.layout import printed_cluster, printed_layout, printed_model, world_of
from app.core.measurements.logs.runs import LoggedStep, LogRun, SteadyRun, StepCount
from app.core.measurements.logs.settings import LogSettings, line_numbers, plain_line, read_settings
from app.core.measurements.logs.summary import utilization
from tests.each import each

TERA = 1e12
# As programs print them: of Megatron, NeMo, DeepSpeed, MaxText, torchtitan, nanoGPT, verl, swift, veScale and others.
NUMBERS: Mapping[str, Mapping[str, float]] = {
    "elapsed time per iteration (ms): 3415.3 | throughput per GPU (TFLOP/s/GPU): 412.5 | global batch size: 128": {
        "step_time": 3.4153, "flops_per_gpu": 412.5 * TERA, "global_batch": 128,
    },
    "elapsed_time_per_iteration: 3.4": {"step_time": 3.4},
    "train_step_timing in s: 4.2": {"step_time": 4.2},
    "iter time (s): 2.5": {"step_time": 2.5},
    "iter time: 250ms": {"step_time": 0.25},
    "iter time: 250": {},
    "seconds: 4.25, TFLOP/s/device: 180.2, Tokens/s/device: 2,900.5": {
        "step_time": 4.25, "flops_per_gpu": 180.2 * TERA, "tokens_per_second_per_gpu": 2900.5,
    },
    "seconds: 2min": {"step_time": 120},
    "seconds: 0": {},
    "step time: 1.5s": {"step_time": 1.5},
    "time_metrics/end_to_end(s): 12.5": {"step_time": 12.5},
    "perf/time_per_step: 30.1": {"step_time": 30.1},
    "timing_s/step: 30": {"step_time": 30},
    "| time: 250ms |": {"step_time": 0.25},
    "train speed(s/it): 2.5": {"step_time": 2.5},
    "train speed(iter/s): 0.4": {"step_time": 2.5},
    "timing_s/update_actor: 12.0": {"phase_time": 12},
    "iter 10: loss 3.1, time 250ms, dt: 350ms": {"step_time": 0.35},
    "iter 10: loss 3.1, time 250ms": {"step_time": 0.25},
    "2.50s/it": {"step_time": 2.5},
    "4.00it/s": {"step_time": 0.25},
    "approx flops per GPU: 40.5TFLOPs": {"flops_per_gpu": 40.5 * TERA},
    "GPU utilization: 300.5": {"flops_per_gpu": 300.5 * TERA},
    "310.5 MODEL TFLOP/s/GPU": {"flops_per_gpu": 310.5 * TERA},
    "model_tflops_per_gpu: 310.5": {"flops_per_gpu": 310.5 * TERA},
    "tflops_per_sec_per_gpu: 310": {"flops_per_gpu": 310 * TERA},
    "tflops: 339.16  mfu: 34.29%  tps: 5,800": {
        "flops_per_gpu": 339.16 * TERA, "mfu": 0.3429, "tokens_per_second_per_gpu": 5800,
    },
    "tokens per gpu per second (tgs): 3000": {"tokens_per_second_per_gpu": 3000},
    "tokens_per_sec_per_gpu: 3000": {"tokens_per_second_per_gpu": 3000},
    "(tokens/s/gpu): 3000": {"tokens_per_second_per_gpu": 3000},
    "3000 tok/s/gpu": {"tokens_per_second_per_gpu": 3000},
    "throughput/device/tps: 3000": {"tokens_per_second_per_gpu": 3000},
    "wps: 3000": {"tokens_per_second_per_gpu": 3000},
    "perf/throughput: 3000": {"tokens_per_second_per_gpu": 3000},
    "tokens per sec: 24000": {"tokens_per_second": 24000},
    "tok/s: 24k": {"tokens_per_second": 24000},
    "throughput: 24000 tok peak mem": {"tokens_per_second": 24000},
    "RunningAvgSamplesPerSec=7.86, CurrSamplesPerSec=12.5": {"samples_per_second": 12.5},
    "samples per second: 12.5": {"samples_per_second": 12.5},
    "mfu: 1": {"mfu": 1},
    "mfu: 1.01": {},
    "perf/mfu/actor: 0.45": {"mfu": 0.45},
    "loss: 3.0": {},
}  # fmt: skip


@each("line", NUMBERS)
def test_a_number_of_a_line_has_the_unit_that_its_program_prints(line: str) -> None:
    assert line_numbers(line).values == pytest.approx(NUMBERS[line])


def test_an_mfu_without_a_sign_has_the_scale_of_its_family_and_one_with_a_sign_its_own() -> None:
    assert line_numbers("mfu: 45", 0.01).values == pytest.approx({"mfu": 0.45})
    assert line_numbers("mfu: 45%", 1.0).values == pytest.approx({"mfu": 0.45})


def test_a_number_with_an_unknown_unit_is_named_unless_another_place_says_it() -> None:
    assert line_numbers("tps: 3000parsecs").odd == {"tokens_per_second_per_gpu": "3000parsecs"}
    both = line_numbers("tokens/s/device: 3000parsecs tps: 2900")
    assert (both.values, both.odd) == ({"tokens_per_second_per_gpu": 2900}, {})


def test_colors_quotes_and_underscores_are_no_part_of_a_line() -> None:
    assert plain_line("\x1b[31m'train_step_timing in s' =  4.2\x1b[39m |") == "train step timing in s:4.2 |"
    assert plain_line("time ( s ) : 4") == "time (s):4"


SAID: Mapping[str, Mapping[str, str]] = {
    "world_size ....... 256": {"world": "256"},
    "global batch size: 128": {"global_batch": "128"},
    "Instantaneous batch size per device = 4": {"micro_batch": "4"},
    "seq_length: 2048, encoder seq length: 512": {"sequence": "2048"},
    "DP world size: 8": {"data": "8"},
    "num_layers=32 hidden_size: 4096.": {"layers": "32", "hidden": "4096"},
    "padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)": {"vocabulary": "50304"},
    "-D device mesh with ['dp_shard', 'tp', 'ep'], [4, 2, 3]": {"shards": "4", "tensor": "2", "ep": "3"},
    "swiglu: True num_query_groups: 8": {"gated": "True", "groups": "8"},
    "max sequence_length: 9": {},
}


@each("line", SAID)
def test_a_setting_is_called_here_what_it_is_whatever_its_program_calls_it(line: str) -> None:
    found = read_settings(line)
    assert (found.values if found else {}) == SAID[line]


@each(
    ("line", "gpu"),
    [
        ("rank 0: device_name: NVIDIA H100 80GB HBM3, capability 9.0", "NVIDIA H100 80GB HBM3"),
        ("GPU: NVIDIA A100-SXM4-80GB (0)", "NVIDIA A100-SXM4-80GB"),
        ("CUDA capacity: NVIDIA H100 80GB HBM3 with 79.1GiB memory", "NVIDIA H100 80GB HBM3"),
    ],
)
def test_a_gpu_ends_where_something_else_begins(line: str, gpu: str) -> None:
    found = read_settings(line)
    assert found
    assert found.gpu == gpu


def test_what_is_said_of_the_model_the_peak_and_the_bits_is_noted_with_its_program() -> None:
    lines = ("Building llama3.1 8B", "Peak FLOPS used for computing MFU: 9.89e+14", "fp8: hybrid", "fp8: none")
    model, peak, eight, none = map(read_settings, lines)
    assert model
    assert (model.model, model.printed_by) == ("llama3.1 8B", {"torchtitan"})
    assert peak
    assert peak.peak == 9.89e14
    assert eight
    assert eight.eight_bits
    assert none is None
    dotted = read_settings("hidden_size ........ 4096")
    assert dotted
    assert dotted.printed_by == {"megatron"}


def test_a_setting_with_two_values_has_none_and_a_count_is_a_whole_number_of_nine_digits_at_most() -> None:
    said = LogSettings(values={"a": "8.0", "b": "123456789", "c": "1234567890", "d": "x", "e": "TRUE", "f": "no"})
    assert [said.count(name) for name in "abcdz"] == [8, 123_456_789, 0, 0, 0]
    assert (said.says("e"), said.says("f"), said.says("z")) == (True, None, None)
    said.keep("num layers", "32")
    said.keep("num layers", "32")
    assert said.text("layers") == "32"
    said.keep("num layers", "48")
    assert (said.text("layers"), said.count("layers")) == ("", 0)
    assert said.contradicted == {"layers": ("num layers", "32", "48")}


def test_settings_differ_in_what_both_say_and_take_over_what_the_other_says_alone() -> None:
    one, other = LogSettings(gpu="A"), LogSettings(gpu="B", model="m", peak=1.0, printed_by={"megatron"})
    assert one.differs(other)
    one.gpu = ""
    assert not one.differs(other)
    one.keep("num layers", "32")
    other.keep("hidden size", "64")
    assert not one.differs(other)
    other.keep("num layers", "48")
    assert one.differs(other)
    one.merge(other)
    assert (one.gpu, one.model, one.peak, one.printed_by) == ("B", "m", 1.0, {"megatron"})
    assert (one.text("hidden"), one.text("layers")) == ("64", "")
    assert not LogSettings()
    assert all((LogSettings(gpu="A"), LogSettings(model="m"), LogSettings(peak=1.0), LogSettings(eight_bits=True)))


H100, UNKNOWN = "NVIDIA H100 80GB HBM3", "NVIDIA Unknown 9000"  # the first has 989.5 TFLOP/s, and twice that in 8 bits
# The GPU, whether in 8 bits, the TFLOP/s and the MFU that are printed, the peak that the log says; and what holds.
PEAKS: Mapping[str, tuple[str, bool, float | None, float | None, float | None, bool, float | None, str]] = {
    "an MFU of what is printed": (H100, False, 494.7, None, None, True, 0.5, ""),
    "in 8 bits": (H100, True, 989.5, None, None, True, 0.5, ""),
    "more than in 16 bits": (H100, False, 1200, None, None, True, None, "in 16 bits"),
    "a little more, rounded": (H100, False, 1000, None, None, True, 1.011, ""),
    "as much as in 8 bits, rounded": (H100, False, 2010, None, None, True, None, "in 16 bits"),
    "more than in 8 bits": (H100, False, 2030, None, None, False, None, "the highest peak of NVIDIA H100"),
    "more than any GPU has": ("", False, 15_400, None, None, False, None, "highest peak of any GPU"),
    "no GPU": ("", False, 400, None, None, True, None, ""),
    "with sparsity": (H100, False, 494.7, 0.25, None, True, 0.5, "the peak with sparsity"),
    "sparsity of a GPU that is not named": ("", False, 494.7, 0.125, None, True, 0.25, "the peak with sparsity"),
    "as printed": (H100, False, 494.7, 0.5, None, True, 0.5, ""),
    "of another peak": (H100, False, 494.7, 0.4, None, True, 0.5, "divides by 1.237 PFLOP/s; the peak of"),
    "of an A100 on another GPU": (UNKNOWN, False, 156, 0.5, None, True, None, "the peak of an A100"),
    "of an A100 on one": ("NVIDIA A100-SXM4-80GB", False, 156, 0.5, None, True, 0.5, ""),
    "more than one of an unknown GPU": (UNKNOWN, False, 300, 1.5, None, True, None, "an MFU above 100 % is not one"),
    "an unknown GPU": (UNKNOWN, False, 300, 0.6, None, True, 0.6, ""),
    "nothing but an MFU": ("", False, None, 0.3, None, False, 0.3, ""),
    "nothing but one of one, rounded": ("", False, None, 1.02, None, False, 1.02, ""),
    "nothing but one of more than one": ("", False, None, 1.03, None, False, None, "is not one"),
    "of a peak that the log says": (H100, False, None, 0.6, 312, False, 0.6 * 312 / 989.5, "divides by 312 TFLOP/s"),
    "of about the dense peak": (H100, False, None, 0.6, 980, False, 0.6, ""),
    "nothing": (H100, False, None, None, None, False, None, ""),
}


@each("case", PEAKS)
def test_an_mfu_is_of_the_dense_peak_or_is_doubted(case: str) -> None:
    gpu, eight_bits, tera, printed, peak, has_flops, mfu, doubt = PEAKS[case]
    family = next(one for one in LOG_FAMILIES if one.name == "megatron")
    values = {"flops_per_gpu": tera and tera * TERA, "mfu": printed}
    step = LoggedStep(1, None, {name: value for name, value in values.items() if value is not None})
    run = LogRun(LogSettings(gpu=gpu, eight_bits=eight_bits, peak=peak and peak * TERA))
    run.counts[family.name] = StepCount(family, steps={1: step})
    flops, found, doubts = utilization(SteadyRun.of(run))
    assert (flops is not None) is has_flops
    assert found == (None if mfu is None else pytest.approx(mfu, rel=2e-3))
    assert bool(doubts) is bool(doubt), doubts
    assert doubt in " ".join(doubts)


SETTINGS = {"world": "64", "tensor": "4", "pipeline": "2", "sequence": "4096", "micro_batch": "2"}
GUESSES = ("recompute=selective", "zero_stage=1", "sequence_parallel=True")
# What is printed otherwise, what of the layout is so, and which guesses are none any more.
LAYOUTS: Mapping[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    "as it is": ({}, "data=8 microbatches=8", ()),
    "a sharded optimizer": ({"sharded_optimizer": "true"}, "micro_batch=2 sequence", ("zero_stage=1",)),
    "none": ({"sharded_optimizer": "false"}, "zero_stage=0", ("zero_stage=1",)),
    "ZeRO": ({"zero_stage": "3"}, "zero_stage=3", ("zero_stage=1",)),
    "a strange ZeRO": ({"zero_stage": "4"}, "micro_batch=2 sequence", ()),
    "shards": ({"world": "", "shards": "8"}, "data=8 microbatches=8 micro_batch=2 zero_stage=3", ("zero_stage=1",)),
    "no sequence parallelism": ({"sequence_parallel": "False"}, "sequence_parallel=False", ("sequence_parallel=True",)),
    "sequence parallelism": ({"sequence_parallel": "True"}, "micro_batch=2 sequence", ("sequence_parallel=True",)),
    "no tensor parallelism": ({"tensor": ""}, "data=32 microbatches=2", ("sequence_parallel=True",)),
    "full": ({"recompute": "full"}, "recompute=full", ("recompute=selective",)),
    "all": ({"recompute_all": "true"}, "recompute=full", ("recompute=selective",)),
    "scores": ({"recompute_scores": "true"}, "recompute=selective", ("recompute=selective",)),
    "nothing again": ({"recompute": "none", "flash_attention": "false"}, "recompute=none", ("recompute=selective",)),
    "nothing, fused": ({"recompute": "none", "flash_attention": "true"}, "recompute=selective", ("recompute=selective",)),
    "chunks": ({"layers": "32", "layers_per_chunk": "4"}, "virtual=4", ()),
    "chunks by number": ({"virtual": "3", "layers": "32", "layers_per_chunk": "4"}, "virtual=3", ()),
    "one replica": ({"world": "8"}, "pipeline=2 microbatches=64", ("zero_stage=1",)),
    "contexts": ({"context": "2"}, "context=2 data=4 microbatches=16", ()),
    "experts on one rank each": ({"experts": "8", "expert": "8", "expert_tensor": "1"}, "expert_tensor=1", ()),
    "experts as the rest": ({"experts": "8", "expert": "8", "expert_tensor": "4"}, "expert_tensor=4", ()),
    "no experts": ({"expert_tensor": "1"}, "micro_batch=2 sequence", ()),
}  # fmt: skip


@each("what", LAYOUTS)
def test_a_layout_is_as_printed_and_the_rest_a_guess(what: str) -> None:
    more, part, known = LAYOUTS[what]
    said = LogSettings(values={name: text for name, text in {**SETTINGS, **more}.items() if text})
    found = printed_layout(said, 128)
    assert part in found.text
    assert found.text.endswith("sequence=4096")
    assert found.guesses == tuple(guess for guess in GUESSES if guess not in known)


def test_a_layout_needs_gpus_that_its_degrees_divide_and_the_length_of_a_sequence() -> None:
    for more in ({"world": "60"}, {"world": ""}, {"sequence": ""}, {"tensor": "128"}):
        said = LogSettings(values={name: text for name, text in {**SETTINGS, **more}.items() if text})
        assert printed_layout(said, 128).text == ""
    eight = printed_layout(LogSettings(values=SETTINGS, eight_bits=True), None).text
    assert "precision=8-bit" in eight
    assert "microbatches" not in eight  # nobody says how large a batch is
    without = printed_layout(LogSettings(values={**SETTINGS, "micro_batch": "0"}), 128)
    assert "microbatches=16" in without.text
    assert without.guesses[-1] == "micro_batch=1"
    assert world_of(LogSettings(values={"shards": "4", "tensor": "2", "dp_replicate": "3"})) == 24
    assert world_of(LogSettings(values={"world": "7", "shards": "4"})) == 7


def test_a_cluster_needs_the_name_and_the_number_of_its_gpus() -> None:
    assert printed_cluster(LogSettings(gpu=H100, values={"world": "64"})) == "DGX-H100 gpus=64"
    for said in (
        LogSettings(gpu=H100),
        LogSettings(values={"world": "64"}),
        LogSettings(gpu=UNKNOWN, values={"world": "8"}),
    ):
        assert printed_cluster(said) == ""


SEVEN = {
    "layers": "32", "hidden": "4096", "heads": "32", "feed_forward": "11008", "gated": "True", "vocabulary": "32000",
    "groups": "32",
}  # fmt: skip
NAME, SHAPE = "Llama-2-7B", "layers=32 hidden=4096 heads=32 feed_forward=11008"
# What is printed otherwise, how the model's text begins, a part of it, guesses, and what is missing.
SHAPES: Mapping[str, tuple[dict[str, str], str, str, tuple[str, ...], tuple[str, ...]]] = {
    "a known one": ({}, NAME, "", (), ()),
    "with a padded vocabulary": ({"vocabulary": "36095"}, NAME, "", (), ()),
    "with another vocabulary": ({"vocabulary": "36096"}, SHAPE, "vocabulary=36096", (), ()),
    "without groups": ({"groups": ""}, SHAPE, "key_value_heads=32", ("key_value_heads=32",), ()),
    "with groups that are not used": ({"groups": "8", "grouped": "false"}, NAME, "", (), ()),
    "with groups": ({"groups": "8"}, SHAPE, "key_value_heads=8", (), ()),
    "with a gate by its name": ({"gated": "", "glu": "swiglu"}, NAME, "", (), ()),
    "perhaps with a gate": ({"gated": ""}, "", "", (), ("gated",)),
    "with four times the width": ({"gated": "", "feed_forward": "16384"}, "", "gated=False", ("gated=False",), ()),
    "without a vocabulary": ({"vocabulary": ""}, SHAPE, "vocabulary=51200", ("vocabulary=51200",), ()),
    "with its own vocabulary": ({"vocabulary": "", "own_vocabulary": "50257"}, SHAPE, "vocabulary=50257", ("vocabulary=50257",), ()),
    "without layers": ({"layers": ""}, "", "", (), ("layers",)),
    "without layers and width": ({"layers": "", "hidden": ""}, "", "", (), ()),
    "one expert": ({"experts": "1"}, NAME, "", (), ()),
    "experts": (
        {"experts": "8", "active_experts": "2", "expert_feed_forward": "1024", "shared_width": "2048"},
        "layers=32", "feed_forward=0 vocabulary=32000 gated=True key_value_heads=32 experts=8 expert_feed_forward=1024"
        " active_experts=2 shared=2", (), (),
    ),
    "experts of which nobody says how many work": ({"experts": "8"}, "", "", (), ("active_experts",)),
    "latent attention": ({"latent_attention": "true"}, "", "", (), ("latent",)),
    "smaller heads": ({"head_size": "64"}, SHAPE, "head_size=64", (), ()),
    "its own head and norm": ({"untied": "true", "query_key_norm": "false", "normalization": "RMSNorm"}, NAME, "", (), ()),
    "a tied head": ({"untied": "false"}, SHAPE, "tied=True", (), ()),
    "another norm": ({"normalization": "LayerNorm"}, SHAPE, "norm=layer", (), ()),
    "biases of queries": ({"unbiased": "true", "query_bias": "true"}, SHAPE, "biases=qkv", (), ()),
    "no biases": ({"biased": "false"}, NAME, "", (), ()),
    "all biases": ({"biased": "true"}, SHAPE, "biases=all", (), ()),
    "learned positions": ({"position_type": "learned_absolute", "positions": "2048"}, SHAPE, "positions=2048", (), ()),
    "rotated positions": ({"position_type": "rope", "positions": "2048"}, NAME, "", (), ()),
}  # fmt: skip


@each("what", SHAPES)
def test_a_model_is_the_known_one_of_that_shape_else_its_shape_and_guesses(what: str) -> None:
    more, begins, part, guesses, missing = SHAPES[what]
    found = printed_model(LogSettings(values={name: text for name, text in {**SEVEN, **more}.items() if text}))
    assert found.text.startswith(begins)
    assert (found.text == NAME) is (begins == NAME)
    assert part in found.text
    assert (found.guesses, found.missing) == (guesses, missing)
    assert bool(found.printed) is bool(missing)


def test_a_model_by_its_name_must_agree_with_what_else_is_printed() -> None:
    for layers, name in (("32", "Llama-3.1-8B"), ("31", ""), ("", "Llama-3.1-8B")):
        said = LogSettings(model="llama3.1 8B", values={"layers": layers} if layers else {})
        assert printed_model(said).text == name
    assert printed_model(LogSettings(model="llama9 8B")).text == ""
