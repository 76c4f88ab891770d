"""Training logs: each family's lines of several versions, medians after warm-up, and doubts."""

from pathlib import Path

import pytest

from app.core.measurements.file_reader import read_files
from app.core.measurements.reports import TrainingLog
from tests.each import each


def read(tmp_path: Path, *lines: str) -> TrainingLog:
    path = tmp_path / "pasted"
    path.write_text("\n".join(lines) + "\n")
    (found,) = read_files([path])
    assert isinstance(found, TrainingLog), found
    return found


MEGATRON = (
    " [2024-04-06 02:59:{at:02}] iteration {n:8}/     100 | consumed samples:         5504 |"
    " elapsed time per iteration (ms): 4000.0 | throughput per GPU (TFLOP/s/GPU): 239.8 |"
    " learning rate: 8.600000E-06 | global batch size:   128 | lm loss: 1.825991E+00 |"
)
# How a line looks, and the step time, tokens per second, FLOP per second and MFU that it says.
LINES = {
    "Megatron-LM 2024": (MEGATRON, 4.0, None, 239.8e12, None),
    "Megatron-LM 2020": (
        " iteration {n:8}/  250000 | elapsed time per iteration (ms): 4000.0 | learning rate:"
        " 1.500E-04 | lm loss: 6.931E+00 | loss scale: 262144.0 |",
        4.0, None, None, None,
    ),
    "Megatron-DeepSpeed": (
        " iteration {n:8}/   25000 | consumed samples: 1 | consumed tokens: 2048 | elapsed time per"
        " iteration (s): 4.00 | learning rate: 2.1E-06 | global batch size: 512 | lm loss: 1.1E+01 |"
        " samples per second: 128.000 | tokens per gpu per second (tgs): 2048.500 | TFLOPs: 112.90 |",
        4.0, 2048.5, 112.9e12, None,
    ),
    "Megatron of an AMD image": (
        "[2025-03-01 10:00:{at:02}] iteration {n}/50 | consumed samples: 8 | elapsed time per"
        " iteration (ms): 4000.0/4100.5 | throughput per GPU (TFLOP/s/GPU): 430.1/425.0 | tokens"
        " per GPU (tokens/s/GPU): 2048.5/2000.0 |",
        4.0, 2048.5, 430.1e12, None,
    ),
    "Megatron-Bridge": (
        "0: train/0 Step Time : 4.00s GPU utilization: 663.5MODEL_TFLOP/s/GPU\n"
        "0: train/0  [2025-12-22 15:18:{at:02}] iteration  {n}/  50 | consumed samples: 25600 |"
        " elapsed time per iteration (ms): 4000.0 | global batch size:   512 |",
        4.0, None, 663.5e12, None,
    ),
    "NeMo 2": (
        "0: Training epoch 0, iteration {n}/99 | lr: 5.6e-06 | global_batch_size: 32 | global_step:"
        " {n} | reduced_train_loss: 2.778 | train_step_timing in s: 4.0 | TFLOPS_per_GPU: 430.1 |"
        " tokens_per_sec_per_gpu: 1.024e+03 | consumed_samples: 928",
        4.0, 1024, 430.1e12, None,
    ),
    "NeMo 1": (
        "Epoch 0:   1%|1         | {n}/3000 [05:33<2:11:00, v_num=0, reduced_train_loss=2.3,"
        " global_step={n}.0, consumed_samples=960.0, train_step_timing in s=4.000]\r",
        4.0, None, None, None,
    ),
    "torchtitan 2025": (
        "[rank0]:[titan] 2025-06-16 22:30:{at:02},500 - root - INFO - \x1b[31mstep: {n:2}  \x1b[32m"
        "loss:  6.1384  \x1b[38;5;208mgrad_norm:  1.2  \x1b[33mmemory: 49.66GiB(52.28%)  \x1b[34m"
        "tps: 2,048  \x1b[36mtflops: 1,118.70  \x1b[35mmfu: 49.7%\x1b[39m",
        4.0, 2048, 1118.7e12, 0.497,
    ),
    "torchtitan 2024": (
        "[rank0]:2024-05-01 22:30:{at:02},500 - root - INFO - step: {n:2}  loss: 10.1  memory:"
        " 49.66GiB(52.28%)  wps: 2,048  mfu: 34.30%",
        4.0, 2048, None, 0.343,
    ),
    "DeepSpeed, of its engine": (
        "[2023-07-25 21:03:{at:02},500] [INFO] [timer.py:215:stop] epoch=0/micro_step={n}/"
        "global_step={n}, RunningAvgSamplesPerSec=7.86, CurrSamplesPerSec=8.0, MemAllocated=59GB",
        4.0, None, None, None,
    ),
    "DeepSpeed 2021": (
        "[2021-07-25 21:03:{at:02},500] [INFO] [timer.py:157:stop] 0/{n}, SamplesPerSec=13.2",
        4.0, None, None, None,
    ),
    "DeepSpeed, of a pipeline": (
        "steps: {n} loss: 5.6721 iter time (s): 4.000 samples/sec: 103.8",
        4.0, None, None, None,
    ),
    "MaxText": (
        "completed step: {n}, seconds: 4.000, TFLOP/s/device: 180.216, Tokens/s/device: 4096.125,"
        " total_weights: 65536, loss: 10.1",
        4.0, 4096.125, 180.216e12, None,
    ),
    "MaxText 2023": (
        "completed step: {n}, seconds: 4.000, TFLOP/s: 180.216, loss: 10.1",
        4.0, None, 180.216e12, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_every_family_is_read(tmp_path: Path, name: str) -> None:
    line, time, tokens, flops, mfu = LINES[name]
    log = read(tmp_path, *(line.format(n=n, at=4 * n) for n in range(1, 10)))
    assert log.family == {"NeMo": "nemo", "Mega": "megatron"}.get(
        name[:4], name.split(maxsplit=1)[0].rstrip(",").lower()
    )
    assert log.steps == 9
    assert log.step_time == pytest.approx(time)
    assert log.tokens_per_second_per_gpu == tokens
    assert log.flops_per_gpu == (pytest.approx(flops) if flops else None)
    assert log.mfu == (pytest.approx(mfu) if mfu else None)
    assert log.doubts == ()


def test_a_median_after_warm_up_is_what_counts(tmp_path: Path) -> None:
    times = [90.0] * 4 + [4.0] * 30 + [40.0] * 6
    lines = [f"completed step: {n}, seconds: {time}" for n, time in enumerate(times)]
    log = read(tmp_path, *lines)
    assert (log.steps, log.step_time) == (40, 4.0)


def test_the_first_tenth_of_many_steps_is_warm_up(tmp_path: Path) -> None:
    times = [9.0] * 10 + [4.0] * 46 + [9.0] * 44
    lines = [f"completed step: {n}, seconds: {time}" for n, time in enumerate(times)]
    assert read(tmp_path, *lines).step_time == 4.0


def test_what_every_rank_prints_is_one_step(tmp_path: Path) -> None:
    lines = [f"[rank{rank}]: step: {n}  loss:  6.1  tps: {5000 + n}" for n in range(5) for rank in range(8)]
    log = read(tmp_path, *lines)
    assert (log.steps, log.tokens_per_second_per_gpu) == (5, 5002)


def test_batch_sequence_and_gpus_give_the_tokens(tmp_path: Path) -> None:
    settings = (
        "  seq_length ...................................... 4096",
        "  world_size ...................................... 16",
    )
    log = read(tmp_path, *settings, *(MEGATRON.format(n=n, at=4 * n) for n in range(5)))
    assert log.tokens_per_second_per_gpu == 128 * 4096 / 16 / 4


def test_a_batch_and_a_rate_give_the_step_time_and_the_clock_disagrees(tmp_path: Path) -> None:
    """DeepSpeed issue 255: 13.2 samples per second are said, and a step of 53 takes 16 s."""
    line = "[2020-06-01 10:{:02}:{:02},000] [INFO] [timer.py:157:stop] 0/{}, SamplesPerSec=13.25"
    lines = [line.format(16 * n // 60, 16 * n % 60, n) for n in range(8)]
    log = read(tmp_path, "  train_batch_size ............. 53", *lines)
    assert log.step_time == pytest.approx(16.0)
    (doubt,) = log.doubts
    assert "says 4 s for a step, and its clock says 16 s, which is shown" in doubt
    assert "DeepSpeed's samples per second are known to be wrong" in doubt


def test_an_mfu_of_the_peak_with_sparsity_is_computed_again(tmp_path: Path) -> None:
    """Megatron-LM issue 1565: half the MFU, as 1,979 TFLOP/s are the H100's peak with sparsity."""
    line = "step: {}  loss:  6.1  memory: 49GiB(52%)  tps: 5,000  tflops: 400.00  mfu: 20.21%"
    gpu = "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory"
    log = read(tmp_path, *(line.format(n) for n in range(4)))
    assert log.mfu == pytest.approx(400 / 989, rel=1e-3)
    (doubt,) = log.doubts
    assert "sparsity" in doubt
    assert "40.4 %" in doubt
    assert read(tmp_path, gpu, *(line.format(n) for n in range(4))).mfu == log.mfu


def test_the_mfu_of_a_gpu_that_is_named_is_computed(tmp_path: Path) -> None:
    gpu = "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory"
    line = "step: {}  loss:  6.1  memory: 49GiB(52%)  tps: 5,000  tflops: 400.00  mfu: 64.10%"
    plain = line.partition("  mfu")[0]
    lines = [plain.format(n) for n in range(4)]
    assert read(tmp_path, *lines).mfu is None
    assert read(tmp_path, gpu, *lines).mfu == pytest.approx(400 / 989, rel=1e-3)
    log = read(tmp_path, gpu, *(line.format(n) for n in range(4)))
    assert log.mfu == pytest.approx(400 / 989, rel=1e-3)
    assert "divides by 624 TFLOP/s; the peak of NVIDIA H100 80GB HBM3 is 989" in log.doubts[0]


TFLOPS = "step: {{n}}  loss:  6.1  memory: 49GiB(52%)  tps: 5,000  tflops: {flops:.2f}"
CARD = "CUDA capacity: NVIDIA {gpu} with 79.10GiB memory"


@each(
    ("gpu", "flops", "shown", "says"),
    [
        ("B200", 2_200, 2_200, ""),
        ("B200", 6_000, 6_000, "is more than 2.25 PFLOP/s, the dense peak of NVIDIA B200 in 16 bits"),
        ("B200", 9_300, None, "is more than 9 PFLOP/s, the highest peak of NVIDIA B200"),
        ("H100 80GB HBM3", 1_900, 1_900, "is more than 989 TFLOP/s, the dense peak"),
        ("H100 80GB HBM3", 2_100, None, "the highest peak of NVIDIA H100 80GB HBM3"),
    ],
)
def test_flops_above_the_dense_peak_have_no_mfu_and_above_every_peak_they_are_left_out(
    tmp_path: Path, gpu: str, flops: float, shown: float | None, says: str
) -> None:
    line = TFLOPS.format(flops=flops)
    log = read(tmp_path, CARD.format(gpu=gpu), *(line.format(n=n) for n in range(4)))
    assert log.flops_per_gpu == (shown and pytest.approx(shown * 1e12))
    assert (log.mfu is None) is bool(says)
    assert [says in doubt for doubt in log.doubts] == [True] * bool(says)


@each(
    ("gpu", "mfu", "says"),
    [
        ("H100 80GB HBM3", 20.6, "the peak with sparsity"),  # 1.96 times the dense peak
        ("H100 80GB HBM3", 20.9, "the peak of NVIDIA H100 80GB HBM3 is 989 TFLOP/s"),  # 1.94 times
        ("A100X", 128.0, "an MFU above 100 % is not one; the peak of NVIDIA A100X is not known here"),
        ("A100X", 101.0, ""),  # which may be rounding
        ("A100 80GB PCIe", 128.0, "is more than 312 TFLOP/s"),
        ("New 1", 101.0, "the peak of an A100"),  # by which the log divides for a GPU that it does not know
    ],
)
def test_what_an_mfu_divides_by_is_told(tmp_path: Path, gpu: str, mfu: float, says: str) -> None:
    line = TFLOPS.format(flops=400 if gpu.startswith("H") else 312 * mfu / 100) + f"  mfu: {mfu:.2f}%"
    log = read(tmp_path, CARD.format(gpu=gpu), *(line.format(n=n) for n in range(4)))
    assert [says in doubt for doubt in log.doubts] == [True] * bool(says)


@each(("printed", "doubted"), [(2048 * 1.04, False), (2048 * 1.06, True), (2048 * 0.94, True)])
def test_printed_tokens_are_doubted_where_batch_and_time_say_others(
    tmp_path: Path, printed: float, doubted: bool
) -> None:
    line = str(LINES["Megatron-DeepSpeed"][0]).replace("2048.500", f"{printed:.3f}")
    settings = "  seq_length ................ 1024", "  world_size ................ 64"
    log = read(tmp_path, *settings, *(line.format(n=n) for n in range(5)))
    assert log.tokens_per_second_per_gpu == pytest.approx(printed, rel=1e-4)
    assert [doubt.endswith("are 2,048") for doubt in log.doubts] == [True] * doubted


def test_a_log_and_a_test_in_one_paste_are_both_read(tmp_path: Path) -> None:
    path = tmp_path / "pasted"
    path.write_text(
        "   1048576        262144     float     sum      -1    100.0   10.49   18.35      0\n"
        "completed step: 1, seconds: 4.0\n"
    )
    assert [one.record()["kind"] for one in read_files([path])] == ["nccl-tests", "log"]


def test_a_clock_alone_gives_the_time_of_a_step(tmp_path: Path) -> None:
    line = "2025-06-16 22:30:{:02},250 - root - INFO - step: {}  loss:  6.1"
    assert read(tmp_path, *(line.format(3 * n, n) for n in range(9))).step_time == 3.0


TITAN = (
    "[titan] 2025-06-16 22:30:{at:06.3f} - root - INFO - step: {n:2}  loss:  6.1384  memory:"
    " 49.66GiB(52.28%)  tps: {tokens:,}  tflops: 339.16  mfu: 34.29%"
)


@pytest.mark.parametrize(
    ("tokens", "seconds", "sequences"),
    [
        (5_863, 1.397, ""),  # 8,191 tokens, as measured: one sequence of 8,192
        (11_726, 1.397, ""),  # two
        (733, 1.397, ""),  # an eighth: eight GPUs share a sequence
        (5_863, 2.0, "1.43"),
        (5_863, 1.6, "1.15"),
        (733, 1.75, "0.16"),
    ],
)
def test_the_tokens_of_a_step_of_torchtitan_are_whole_sequences(
    tmp_path: Path, tokens: int, seconds: float, sequences: str
) -> None:
    steps = [TITAN.format(n=n, at=seconds * n, tokens=tokens) for n in range(1, 10)]
    log = read(tmp_path, "Training starts at step 1, with sequence length 8192", *steps)
    says = f"are {sequences} sequences of 8,192 tokens"
    assert [says in doubt for doubt in log.doubts] == [True] * bool(sequences)
    assert read(tmp_path, *steps).doubts == ()  # the log does not say how long a sequence is


def test_a_log_says_which_model_cluster_and_layout_it_is_of(tmp_path: Path) -> None:
    arguments = (
        "  world_size ...................... 64", "  tensor_model_parallel_size ...... 4",
        "  pipeline_model_parallel_size .... 2", "  context_parallel_size ........... 1",
        "  micro_batch_size ................ 2", "  global_batch_size ............... 128",
        "  seq_length ...................... 4096", "  num_layers ...................... 80",
        "  hidden_size ..................... 8192", "device_name: NVIDIA H100 80GB HBM3",
        "  num_attention_heads ............. 64", "  num_query_groups ................ 8",
        "  ffn_hidden_size ................. 28672", "  swiglu .......................... True",
        "  padded_vocab_size ............... 32256", "  use_distributed_optimizer ....... False",
        "  sequence_parallel ............... False", "  recompute_granularity ........... full",
        "  virtual_pipeline_model_parallel_size .. 4",
    )  # fmt: skip
    step = " iteration {n:8}/  250000 | elapsed time per iteration (ms): 4000.0 | lm loss: 6.9E+00 |"
    log = read(tmp_path, *arguments, *(step.format(n=n) for n in range(1, 6)))
    assert (log.model, log.cluster) == ("Llama-2-70B", "DGX-H100 gpus=64")
    assert log.layout == (
        "tensor=4 pipeline=2 data=8 virtual=4 microbatches=8 micro_batch=2 recompute=full"
        " zero_stage=0 sequence_parallel=False sequence=4096"
    )
    assert (log.model_guesses, log.layout_guesses) == ((), ())
    titan = (
        "[titan] 2025-06-16 - root - INFO - Building llama3 8B with TransformerModelArgs(dim=4096)",
        "[titan] 2025 - root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]",
        "[titan] 2025 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 94.99GiB memory",
        "[titan] 2025 - root - INFO - Training starts at step 1, with local batch size 1, global"
        " batch size 4, sequence length 8192, total steps 1000",
        *(TITAN.format(n=n, at=1.397 * n, tokens=2932) for n in range(1, 6)),
    )
    log = read(tmp_path, *titan)
    assert (log.model, log.cluster) == ("Llama-3-8B", "DGX-H100 gpus=8")
    assert log.layout == "tensor=2 data=4 zero_stage=3 sequence=8192"
    assert not log.doubts
    assert (read(tmp_path, *titan[4:]).model, read(tmp_path, *titan[4:]).layout) == ("", "")


BARS = (
    "{tag}  1%|#         | 3/300 [00:19<30:06,  6.08s/it]",
    "{tag}{{'loss': 1.3031, 'grad_norm': 0.81, 'learning_rate': 1e-05, 'epoch': 0.01}}",
    "{tag} 33%|###3      | 100/300 [08:26<16:40,  5.00s/it]",
    "{tag} 34%|###3      | 101/300 [08:40<23:10,  7.00s/it]",
    "{tag} 67%|######6   | 200/300 [16:56<08:20,  5.00s/it]",
    "{tag}{{'loss': 1.2031, 'grad_norm': 0.81, 'learning_rate': 1e-05, 'epoch': 0.67}}",
    "{tag}100%|##########| 300/300 [25:16<00:00,  5.00s/it]",
)
TAGS = (
    "", "0: ", "[rank0]: ", "[1,0]<stdout>:", "[default0]:", "trainer-1  | ", "2026-05-01T07:03:11.123456789Z stdout F ",
    "(TrainWorker pid=4711, ip=10.0.0.1) ", "[pod/trainer-0/main] ", "trainer-7d9f8b-x2x main ", "node1: ", "10.0.0.1: ",
    "2026-05-01 07:03:11,123 INFO ", "[INFO|trainer.py:2414] 2026-02-03 10:11:12,123 >> ", "\x1b[36m(worker pid=1)\x1b[0m ",
)  # fmt: skip


@each("tag", TAGS)
def test_a_bar_behind_anything_is_measured_by_its_clock_after_warm_up(tag: str, tmp_path: Path) -> None:
    log = read(tmp_path, *(line.format(tag=tag) for line in BARS))
    assert log.family == "hf-trainer"
    assert log.step_time == pytest.approx((25 * 60 + 16 - 8 * 60 - 26) / 200)


def test_bars_that_were_joined_to_one_line_are_several(tmp_path: Path) -> None:
    bars = "".join(line.format(tag="") for line in BARS if "%|" in line)
    log = read(tmp_path, BARS[1].format(tag=""), bars)
    assert log.step_time == pytest.approx(5.05)


def test_a_bar_whose_clock_is_as_coarse_as_what_it_prints_says_what_it_prints(tmp_path: Path) -> None:
    few = "{{'loss': 1.3, 'epoch': 0.1}}", " 20%|## | {n}/100 [00:{s}<01:00,  1.13s/it]"
    log = read(tmp_path, few[0].format(), few[1].format(n=20, s=23), few[1].format(n=30, s=34))
    assert log.step_time == pytest.approx(1.13)


def test_a_description_before_a_bar_is_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "pasted"
    path.write_text("Loading checkpoint shards:  25%|##5 | 1/4 [00:02<00:06,  2.10s/it]\n" * 3)
    (found,) = read_files([path])
    assert not isinstance(found, TrainingLog)


def test_the_mfu_of_a_phase_is_not_that_of_the_step(tmp_path: Path) -> None:
    line = "step:{n} - perf/mfu/actor:0.4 - timing_s/gen:30.0 - timing_s/update_actor:20.0 - timing_s/step:80.0"
    log = read(tmp_path, line.format(n=1), line.format(n=2))
    assert log.mfu == pytest.approx(0.4 * 20 / 80)
    assert any("is that of the update of the actor alone" in doubt for doubt in log.doubts)
    for other in (line.replace("update_actor", "other"), line.replace("actor:20.0", "actor:81.0")):
        assert read(tmp_path, other.format(n=1)).mfu is None  # without its time, or with an impossible one


def test_an_mfu_on_a_fixed_peak_asks_for_the_gpu(tmp_path: Path) -> None:
    line = "iter {n}: loss 4.2, time 88.12ms, mfu 61.02%"
    log = read(tmp_path, line.format(n=100), line.format(n=110))
    assert log.mfu is None
    assert any("say which GPU it was" in doubt for doubt in log.doubts)


def test_a_run_of_llama_factory_has_the_rate_of_its_summary(tmp_path: Path) -> None:
    tag = "[INFO|callbacks.py:310] 2026-02-03 10:12:10,123 >> "
    log = read(
        tmp_path,
        tag + "{'loss': 1.2031, 'learning_rate': 9.9e-06, 'epoch': 0.62, 'throughput': 4123.21}",
        "***** train metrics *****",
        "  train_steps_per_second   =      0.171",
    )
    assert log.step_time == pytest.approx(1 / 0.171)
    assert any("tokens per second of all GPUs together" in doubt for doubt in log.doubts)


def test_lines_of_swift_and_of_axolotl_are_read(tmp_path: Path) -> None:
    swift = (
        "{{'loss': '1.5', 'learning_rate': '1e-05', 'epoch': '0.1', 'global_step/max_steps': '{n}/100',"
        " 'elapsed_time': '1m 23s', 'train_speed(s/it)': '8.25'}}"
    )
    assert read(tmp_path, swift.format(n=10), swift.format(n=20)).step_time == pytest.approx(8.25)
    axolotl = "{'loss': '1.2', 'grad_norm': '0.5', 'tokens/train_per_sec_per_gpu': '4123.2', 'epoch': '0.01'}"
    assert read(tmp_path, axolotl).tokens_per_second_per_gpu == pytest.approx(4123.2)
