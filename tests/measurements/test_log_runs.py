"""Several runs in one log, counters that begin again, several ranks, wrapped lines, settings."""

import re
from pathlib import Path

import pytest

from app.core.measurements.file_reader import read_files
from app.core.measurements.logs.runs import is_warm_up
from app.core.measurements.reports import TrainingLog
from tests.each import each


def read(tmp_path: Path, text: str) -> list[TrainingLog]:
    path = tmp_path / "pasted"
    path.write_text(text)
    found = read_files([path])
    assert all(isinstance(one, TrainingLog) for one in found), found
    return [one for one in found if isinstance(one, TrainingLog)]


def titan(n: int, second: int, tokens: int = 5800, rank: int = 0, day: int = 16) -> str:
    clock = f"2025-06-{day} 22:{second // 60:02}:{second % 60:02},100"
    return (
        f"[rank{rank}]: {clock} - root - INFO - step: {n}  loss:  6.1  memory: 49GiB(52%)"
        f"  tps: {tokens:,}  tflops: 339.16  mfu: 34.29%\n"
    )


def megatron(n: int, time: float, batch: int = 128, total: int = 100) -> str:
    return (
        f" iteration {n:8}/ {total:7} | elapsed time per iteration (ms): {time} | global batch"
        f" size: {batch:5} | lm loss: 1.8E+00 |\n"
    )


def header(world: int) -> str:
    return f"  world_size ......... {world}\n  seq_length ......... 2048\n"


def test_a_run_that_begins_again_at_a_checkpoint_is_another_run(tmp_path: Path) -> None:
    first = "".join(titan(n, 10 * n) for n in range(1, 20))
    again = "".join(titan(n, 20 * n, 2900, day=17) for n in range(11, 25))
    one, two = read(tmp_path, first + again)
    assert (one.steps, one.step_time, one.tokens_per_second_per_gpu) == (19, 10, 5800)
    assert (two.steps, two.step_time, two.tokens_per_second_per_gpu) == (14, 20, 2900)
    assert "run 2 of 2 in this text" in two.doubts[0]


def test_a_run_on_fewer_gpus_that_goes_on_counting_is_another_run(tmp_path: Path) -> None:
    first = header(256) + "".join(megatron(n, 1382.0) for n in range(1, 5))
    one, two = read(tmp_path, first + header(16) + "".join(megatron(n, 22110.0) for n in (5, 6)))
    assert (one.step_time, two.step_time) == pytest.approx((1.382, 22.11))
    assert one.tokens_per_second_per_gpu == pytest.approx(128 * 2048 / 256 / 1.382)
    assert two.tokens_per_second_per_gpu == pytest.approx(128 * 2048 / 16 / 22.11)


def test_a_run_that_goes_on_a_day_later_at_another_speed_is_another_run(tmp_path: Path) -> None:
    first = "".join(titan(n, n) for n in range(1, 6))
    one, two = read(tmp_path, first + "".join(titan(n, 2 * n, 2900, day=17) for n in range(6, 12)))
    assert (one.steps, two.steps) == (5, 6)


def test_another_total_tells_another_run(tmp_path: Path) -> None:
    first = "".join(megatron(n, 87.0) for n in (25, 26, 27))
    one, two = read(tmp_path, first + "".join(megatron(n, 2433.0, total=50) for n in (28, 29)))
    assert (one.step_time, two.step_time) == pytest.approx((0.087, 2.433))


def test_two_programs_in_one_text_are_two_runs(tmp_path: Path) -> None:
    other = "".join(f"completed step: {n}, seconds: 4.0, TFLOP/s: 180.2\n" for n in range(5))
    one, two = read(tmp_path, "".join(titan(n, n) for n in range(1, 6)) + other)
    assert (one.family, two.family, two.step_time) == ("torchtitan", "maxtext", 4.0)


def test_lines_of_two_runs_in_turn_are_doubted(tmp_path: Path) -> None:
    lines = [titan(n, n) + f"completed step: {n}, seconds: 4.0\n" for n in range(1, 6)]
    for log in read(tmp_path, "".join(lines)):
        assert "lines of another run lie between these steps" in " ".join(log.doubts)


def test_lines_of_two_runs_of_one_program_in_turn_are_doubted(tmp_path: Path) -> None:
    lines = [megatron(n, 1000.0) + megatron(n + 500, 3000.0) for n in range(1, 9)]
    for log in read(tmp_path, "".join(lines)):
        assert "lines of several runs stand in turn" in log.doubts[0]


def test_ranks_that_print_the_same_steps_are_one_run(tmp_path: Path) -> None:
    in_turn = [titan(n, n, 5800 + r, r) for n in range(1, 16) for r in range(8)]
    by_rank = [titan(n, n, 5800 + r, r) for r in range(8) for n in range(1, 16)]
    unnamed = [re.sub(r"^\[rank\d\]: ", "", line) for line in in_turn]
    late = [*unnamed[:20], unnamed[15], *unnamed[20:]]
    for lines in (in_turn, by_rank, unnamed, late):
        (log,) = read(tmp_path, "".join(lines))
        assert (log.steps, log.step_time, log.doubts) == (15, 1.0, ())


def test_lines_that_are_printed_twice_count_once(tmp_path: Path) -> None:
    lines = [megatron(n, 1000.0 + n) for n in range(1, 9)]
    for doubled in ([*lines, *lines], [line for line in lines for _ in range(2)]):
        (log,) = read(tmp_path, "".join(doubled))
        assert (log.steps, log.doubts) == (8, ())
        assert log.step_time == pytest.approx(1.0045)


@each("width", [40, 60, 79, 80, 100, 132])
def test_a_line_that_a_terminal_has_broken_anywhere_is_read(width: int, tmp_path: Path) -> None:
    text = "".join(megatron(n, 4012.0 + n) for n in range(1, 6))
    pieces = [line[i : i + width] for line in text.splitlines() for i in range(0, len(line), width)]
    (log,) = read(tmp_path, "\n".join(pieces) + "\n")
    assert (log.steps, log.doubts) == (5, ())
    assert log.step_time == pytest.approx(4.015)


def test_a_number_at_the_end_of_a_text_may_go_on(tmp_path: Path) -> None:
    text = "".join(f"completed step: {n}, seconds: 4.25\n" for n in range(3))
    (log,) = read(tmp_path, text + "completed step: 3, seconds: 4")
    assert (log.steps, log.step_time) == (4, 4.25)
    (log,) = read(tmp_path, "completed step: 3, seconds: 4")
    assert log.doubts == ("the text ends with a number, which may go on",)


@each(
    ("text", "tokens"),
    [("11.4K", 11_400), ("1.05M", 1_050_000), ("109", 109), ("0.5k", 500), ("2,048.5", 2048.5), ("1.1e+03", 1100)],
)
def test_a_letter_behind_a_number_counts(text: str, tokens: float, tmp_path: Path) -> None:
    line = f"iteration: 3 / 15 | consumed_tokens: 5 | tokens_per_sec_per_gpu: {text} | lr: 1e-5\n"
    (log,) = read(tmp_path, line)
    assert log.tokens_per_second_per_gpu == pytest.approx(tokens)


def test_an_unknown_letter_behind_a_number_leaves_it_out(tmp_path: Path) -> None:
    line = megatron(3, 1000.0).replace("|", "| tokens per gpu per second (tgs): 11.4Q |", 1)
    (log,) = read(tmp_path, line)
    assert log.tokens_per_second_per_gpu is None
    assert "11.4Q (tokens per second per gpu)" in log.doubts[0]


@each(("text", "seconds"), [("11.5K", 11.5), ("4.71K", 4.71), ("980", 0.98), ("1.2M", 1200)])
def test_milliseconds_have_letters_too(text: str, seconds: float, tmp_path: Path) -> None:
    line = f"iteration: 3 / 15 | consumed_tokens: 5 | elapsed_time_per_iteration_ms: {text} | lr: 1\n"
    (log,) = read(tmp_path, line)
    assert log.step_time == pytest.approx(seconds)


@each("place", range(6))
def test_a_setting_counts_until_the_second_step(place: int, tmp_path: Path) -> None:
    """DeepSpeed prints its own after a line of step 0; several lines stand for one step."""
    lines = [
        "[2021-05-27 19:49:22,947] [INFO] [logging.py:60:log_dist] [Rank 0] step=0, skipped=0\n",
        "  seq_length .......... 1024\n",
        "  world_size .......... 64\n",
        "steps: 1 loss: 12.7 iter time (s): 150.4 samples/sec: 6.8\n",
        " iteration        1/    1000 | elapsed time per iteration (ms): 150471.3 | lm loss: 1 |\n",
    ]
    lines.insert(min(place, len(lines)), "  train_batch_size .... 1024\n")
    (log,) = read(tmp_path, "".join([*lines, *lines[-1:]]))
    if place <= 3:
        assert log.tokens_per_second_per_gpu == pytest.approx(1024 * 1024 / 64 / 150.4713)


def test_a_setting_with_two_values_is_not_used(tmp_path: Path) -> None:
    (log,) = read(tmp_path, header(64) + header(16) + megatron(1, 1000.0) + megatron(2, 1000.0))
    assert log.tokens_per_second_per_gpu is None
    assert "the log says world size twice, 64 and 16: neither is used" in log.doubts


def test_settings_of_another_program_are_doubted(tmp_path: Path) -> None:
    gpu = "CUDA capacity: NVIDIA H100 80GB HBM3 with 94.99GiB memory\n"
    (log,) = read(tmp_path, gpu + "completed step: 1, seconds: 4.0, TFLOP/s/device: 400.0\n")
    assert "settings are printed as torchtitan does" in log.doubts[0]


def test_epochs_of_nemo_are_one_count(tmp_path: Path) -> None:
    line = "Training epoch {}, iteration {}/4 | lr: 5e-6 |{} train_step_timing in s: 4.0{}\n"
    for said in ("", " global_step: {} |"):
        text = [line.format(e, i, said.format(5 * e + i), i) for e in range(3) for i in range(5)]
        (log,) = read(tmp_path, "".join(text))
        assert (log.steps, log.doubts) == (15, ())


def test_steps_of_several_kinds_are_doubted(tmp_path: Path) -> None:
    times = [1000.0, 9000.0] * 8
    (log,) = read(tmp_path, "".join(megatron(n, time) for n, time in enumerate(times, 1)))
    assert "a quarter of the steps takes less than" in log.doubts[0]


def test_flops_above_every_peak_and_tokens_of_no_model_are_not_shown(tmp_path: Path) -> None:
    line = "completed step: {}, seconds: 4.0, TFLOP/s/device: {}, Tokens/s/device: {}, loss: 1.0\n"
    (log,) = read(tmp_path, line.format(1, 98_180.2, 4096.1))
    assert log.flops_per_gpu is None
    assert "which is more than" in log.doubts[0]
    (log,) = read(tmp_path, line.format(1, 500.1, 1.0))
    assert log.tokens_per_second_per_gpu is None
    assert "trillion parameters" in log.doubts[0]


@each(("gpu", "mfu"), [("NVIDIA B300 SXM6 AC", 330 / 2250), ("NVIDIA Unknown 9000", None)])
def test_an_mfu_of_the_peak_of_another_gpu_is_computed_or_left_out(gpu: str, mfu: float | None, tmp_path: Path) -> None:
    text = f"CUDA capacity: {gpu} with 267GiB memory\nPeak FLOPS used for computing MFU: 3.120e+14\n"
    text += "".join(titan(n, n).replace("339.16", "330.0").replace("34.29", "105.77") for n in (1, 2))
    (log,) = read(tmp_path, text)
    assert log.mfu == (pytest.approx(mfu) if mfu else None)
    assert "the log's MFU of 105.8 % divides by 312 TFLOP/s" in log.doubts[0]


def test_what_is_printed_must_agree_with_a_model_that_is_called_by_its_name(tmp_path: Path) -> None:
    arguments = {
        "num_layers": "32",
        "hidden_size": "4096",
        "num_attention_heads": "32",
        "num_query_groups": "32",
        "ffn_hidden_size": "11008",
        "swiglu": "True",
        "padded_vocab_size": "32000",
    }

    def model(**changed: str) -> str:
        text = "".join(f"  {k} ....... {v}\n" for k, v in (arguments | changed).items())
        (log,) = read(tmp_path, text + megatron(1, 1000.0) + megatron(2, 1000.0))
        return log.model

    assert model() == "Llama-2-7B"
    assert model(padded_vocab_size="32256") == "Llama-2-7B"
    for name, value in (
        ("num_attention_heads", "64"),
        ("num_query_groups", "8"),
        ("ffn_hidden_size", "16384"),
        ("swiglu", "False"),
        ("padded_vocab_size", "128256"),
        ("normalization", "LayerNorm"),
    ):
        assert "Llama-2-7B" not in model(**{name: value}), name


def test_the_same_step_with_another_time_is_another_run_where_one_rank_prints(tmp_path: Path) -> None:
    """A tutorial that shows step 50 of a run in 16 bits, and of one in 8 bits."""
    line = "Step Time : {}s GPU utilization: {}MODEL_TFLOP/s/GPU\n"
    first, second = (
        line.format(seconds, rate) + megatron(50, 1000 * seconds) for seconds, rate in ((8.6, 330.1), (8.0, 355.0))
    )
    one, two = read(tmp_path, first + second)
    assert (one.step_time, two.step_time) == pytest.approx((8.6, 8.0))
    assert (one.flops_per_gpu, two.flops_per_gpu) == (330.1e12, 355.0e12)


def test_a_trainer_without_lines_for_steps_has_the_time_of_the_whole_run(tmp_path: Path) -> None:
    bars = "\r".join(f" {n}%|#   | {n}/100 [00:{n:02}<01:40,  1.00s/it]" for n in range(1, 40))
    lines = "{'loss': 1.17, 'learning_rate': 0.0001, 'epoch': 0.1}\n"
    evaluated = " 50%|##  | 5/10 [00:00<00:01, 9.5it/s]\n100%|####| 10/10 [00:01<00:00, 9.5it/s]\n"
    total = (
        "{'train_runtime': 300.0, 'train_samples_per_second': 3.3,"
        " 'train_steps_per_second': 0.5, 'train_loss': 1.2, 'epoch': 1.0}\n"
    )
    (log,) = read(tmp_path, f"{lines}{bars}\n{evaluated}{total}")
    assert (log.family, log.steps, log.step_time) == ("hf-trainer", 39, 1.0)
    (log,) = read(tmp_path, lines + total)
    assert (log.steps, log.step_time) == (150, 2.0)
    assert "the time of a step is that of the whole run" in log.doubts[0]


def test_the_tokens_of_a_step_of_axolotl_are_read(tmp_path: Path) -> None:
    line = "{{'loss': 1.17, 'tokens_per_second_per_gpu': {}, 'epoch': 0.1}}\n"
    (log,) = read(tmp_path, "".join(line.format(3120 + n) for n in range(3)))
    assert log.tokens_per_second_per_gpu == 3121


def test_two_steps_far_apart_are_not_averaged(tmp_path: Path) -> None:
    (found,) = read(tmp_path, megatron(1, 41210.3) + megatron(2, 812.1))
    assert found.step_time == pytest.approx(0.8121)
    assert any("that of the last is shown" in doubt for doubt in found.doubts)
    (near,) = read(tmp_path, megatron(1, 1500.0) + megatron(2, 1000.0))
    assert near.step_time == pytest.approx(1.25)
    assert not near.doubts


def test_a_wrapped_step_at_the_end_of_a_text_may_lack_digits(tmp_path: Path) -> None:
    line = "completed step: {n}, seconds: 11.722,\nTFLOP/s/device: 348.548,\nTokens/s/device: {tokens}\n"
    (found,) = read(tmp_path, line.format(n=18, tokens=676))
    assert "the text ends with a number, which may go on" in found.doubts
    (found,) = read(tmp_path, line.format(n=18, tokens=6760.245) + line.format(n=19, tokens=676))
    assert found.tokens_per_second_per_gpu == pytest.approx(6760.245)


def test_a_line_that_counts_steps_is_no_part_of_the_step_before(tmp_path: Path) -> None:
    verl = "step:{n} - perf/mfu/actor:0.3 - timing_s/step:49.0 -\nperf/throughput:3257.33\n"
    other = "Step 1 | loss:1.5\ntokens_per_second_per_gpu:5120.4\n"
    (found,) = read(tmp_path, verl.format(n=1) + verl.format(n=2) + other)
    assert found.tokens_per_second_per_gpu == pytest.approx(3257.33)


def timed(n: int, at: int, seconds: float) -> str:
    clock = f"2024-04-{6 + at // 86400:02} {at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}"
    return f" [{clock}] {megatron(n, 1000 * seconds).strip()}\n"


@each(("apart", "are_several"), [(20, False), (31, True)])
def test_a_step_that_ranks_print_within_its_time_is_one_step(apart: int, are_several: bool, tmp_path: Path) -> None:
    lines = [timed(n, 100 * n + later, 30.0) for n in range(1, 5) for later in (0, apart)]
    assert (len(read(tmp_path, "".join(lines))) > 1) is are_several


@each(("hours", "runs"), [(2, 1), (3, 2)])
def test_a_pause_of_less_than_ten_steps_is_within_a_run(hours: int, runs: int, tmp_path: Path) -> None:
    before = [timed(n, 1000 * n, 1000.0) for n in range(1, 5)]
    after = [timed(n, 1000 * n + 3600 * hours, 2000.0) for n in range(5, 9)]
    assert len(read(tmp_path, "".join(before + after))) == runs


@each(("printed", "clock", "time"), [(4.0, 8, 8.0), (1.2, 2, 1.2), (30.0, 35, 30.0), (30.0, 39, 39.0)])
def test_a_clock_of_whole_seconds_counts_where_it_is_far_from_what_is_printed(
    printed: float, clock: int, time: float, tmp_path: Path
) -> None:
    (log,) = read(tmp_path, "".join(timed(n, clock * n, printed) for n in range(1, 10)))
    assert log.step_time == pytest.approx(time)


def test_two_steps_of_eleven_warm_up(tmp_path: Path) -> None:
    seconds = [9.0, 9.0, *[4.0] * 5, *[5.0] * 4]
    (log,) = read(tmp_path, "".join(megatron(n, 1000 * one) for n, one in enumerate(seconds, 1)))
    assert log.step_time == 4.0


def test_a_log_that_says_its_peak_needs_no_gpu_for_its_mfu(tmp_path: Path) -> None:
    line = "iter {n}: loss 4.2, time 88.12ms, mfu 61.02%\n"
    text = line.format(n=100) + line.format(n=110)
    (log,) = read(tmp_path, f"Peak FLOPS used for computing MFU: 9.890e+14\n{text}")
    assert log.mfu == pytest.approx(0.6102)


@each(
    ("values", "warms"),
    [([2.0], False), ([1.5, 1.0], False), ([1.6, 1.0], True), ([1.6, 1.0, 1.0], True), ([1.6, 1.0, 1.0, 1.0], False)],
)
def test_up_to_three_steps_far_apart_may_warm_up(values: list[float], warms: bool) -> None:
    assert is_warm_up(values) is warms


def test_numbers_that_are_left_out_for_their_unit_are_named(tmp_path: Path) -> None:
    def doubts(text: str) -> list[str]:
        (log,) = read(tmp_path, text)
        return [one for one in log.doubts if "unknown unit" in one]

    lines = [titan(n, 10 * n) for n in range(1, 6)]
    assert doubts("".join(lines)) == []
    odd = "".join(line.replace("tps: 5,800", "tps: 5,800parsecs").replace("339.16", "339.16x") for line in lines)
    assert doubts(odd) == [
        "left out for an unknown unit right behind the number: "
        "339.16x (flops per gpu), 5,800parsecs (tokens per second per gpu)"
    ]
    assert doubts("".join(lines) + odd.replace("step: ", "step: 1")) == [], "another line says it"
