"""Every family of training logs reads its own sample, under its own name, without a doubt."""

from pathlib import Path

from app.core.measurements.file_reader import read_files
from app.core.measurements.logs.families import LOG_FAMILIES, LogFamily, family_titles
from app.core.measurements.logs.reader import FOREIGN_FAMILIES, FOREIGN_TOOLS
from app.core.measurements.reports import TrainingLog, UnreadFile
from tests.each import each

# Seconds of a step, tokens per second and GPU, FLOP/s and MFU, as the sample prints them.
SAYS: dict[str, tuple[float | None, float | None, float | None, float | None]] = {
    "Megatron-LM": (5.5338, 128 * 2048 / 16 / 5.5338, 236.0e12, None),
    "Primus": (4.0136, 10_205.3, 501.05e12, None),
    "Megatron-DeepSpeed": (3.4162, 4796.04, 53.655e12, None),
    "NeMo": (4.009, None, 430.3e12, None),
    "nanotron": (11.5, 11_400, 38.3e12, None),
    "DeepSpeed": (147.8385, None, None, None),
    "torchtitan": (1.3967, 5868, 339.82e12, 0.3436),
    "MaxText": (11.719, 6760.245, 348.649e12, None),
    "nanoGPT": (0.13527, None, None, None),
    "nanochat": (0.11831, None, None, None),
    "litgpt": (0.5125, None, None, None),
    "torchtune": (None, 5126.15, None, None),
    "verl": (48.8955, 3281.745, None, None),
    "OLMo-core": (1.7, 12_348, None, 0.4121),
    "prime-rl": (5.2, None, None, 0.267),
    "Hugging Face Trainer": (8.1, None, None, None),
}

# A line of each, as it prints it.
FOREIGN_SAMPLES: dict[str, str] = {
    "MosaicML Composer": "[batch=20/4800]: Train time/batch: 19",
    "Levanter": "2025-03-01 - INFO - Progress on:train 12.0it/100it rate:1.2s/it remaining:01:40",
    "fairseq": "INFO | train_inner | epoch 001: 100 / 1000 loss=9.1",
    "Keras": "120/1875 [=>............................] - ETA: 5s - loss: 0.5 - 3ms/step",
    "MMEngine or XTuner": "Iter(train) [  10/1000]  lr: 2e-05  time: 1.2",
    "PaddleNLP": "loss: 9.1, global_step: 10, interval_tokens_per_second_per_device: 4100.1",
    "MindFormers": "step:[ 2/ 10], per_step_time: 812ms",
    "InternEvo": "step=5,loss=9.1,tgs (tokens/gpu/second)=4195.1",
    "Lingua": "step: 10  acc: 0  loss: 9.1  wps: 5e+04",
    "timm": "Train: 0 [  50/1251 (  4%)]",
    "torchvision": "Epoch: [0]  [  10/5004] eta: 0:10:01",
    "MLPerf": ':::MLLOG {"namespace": "", "key": "step_time"}',
    "PyTorch Lightning": "Epoch 0:  10%|#         | 10/100 [00:05<00:45, 2.0it/s, v_num=0, train_loss=2.1]",
    "llm.c": "step    1/19560 | loss 11.0 (+nanz)| norm 15.4 (+nanz)| lr 8.6e-07 | 118.3 ms | 45.2% bf16 MFU | 44291 tok/s",
    "modded-nanogpt": "step:10/1770 train_time:600ms step_avg:60.1ms",
    "torchtune without its lines": "1|20|Loss: 1.5: 20%|##  | 20/100 [00:40<03:00]",
    "OpenRLHF": "Train epoch [1/1]:  10%|#         | 10/100 [00:05<00:45,  2.0s/it]",
    "slime": "perf 5: {'perf/rollout_time': 41.2, 'perf/actor_train_time': 22.1}",
    "VeOmni": "Epoch 1/3:  10%|# | 9/90 [00:5<1:0, total_loss: 1.2]",
    "NeMo-RL": "  Total step time: 41.20s",
    "diffusers or another program with a bar of its own": "Steps:   2%|#   | 20/1000 [00:30<24:00,  1.50s/it, lr=1e-5, step_loss=0.1]",
    "oneCCL's benchmark": "# Benchmarking: allreduce ",
    "all_reduce_bench": "The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 4 ranks):",
    "DeepSpeed's FLOPS profiler": "--- DeepSpeed Flops Profiler ---",
    "OSU micro-benchmarks": "# OSU MPI-CUDA Allreduce Latency Test v7.3",
    "Intel MPI Benchmarks": "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part",
    "perftest": " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
    "nvbandwidth": "nvbandwidth Version: v0.8",
    "p2pBandwidthLatencyTest or bandwidthTest": "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]",
    "TransferBench": "TransferBench v1.50",
    "Nsight Systems (nsys stats)": "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),Name",
    "Nsight Compute": "==PROF== Connected to process 4000",
    "torch.profiler as a table": "Self CPU time total: 11.100ms",
    "Holistic Trace Analysis": "rank,idle_time_ns,compute_time_ns,non_compute_time_ns,kernel_time_ns",
    "vLLM": "============ Serving Benchmark Result ============",
    "SGLang": "[2026-02-01 10:00:00 TP0] Decode batch. #running-req: 64, #token: 32768",
    "TensorRT-LLM": "= PERFORMANCE OVERVIEW ",
    "llama.cpp": "llama_perf_context_print:        eval time =    1234.56 ms /   127 runs",
    "nvidia-smi or rocm-smi": "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |",
}


def read(tmp_path: Path, text: str) -> TrainingLog:
    path = tmp_path / "printed.log"
    path.write_text(text)
    (found,) = read_files([path])
    assert isinstance(found, TrainingLog), found
    return found


def of(title: str) -> LogFamily:
    return next(family for family in LOG_FAMILIES if family.title == title)


def test_every_family_has_a_row_here_and_a_source() -> None:
    assert set(SAYS) == set(family_titles())
    assert all(family.source for family in LOG_FAMILIES)


@each("title", SAYS)
def test_a_sample_says_what_is_printed_in_it(title: str, tmp_path: Path) -> None:
    log = read(tmp_path, of(title).sample)
    assert log.family == of(title).name
    found = (log.step_time, log.tokens_per_second_per_gpu, log.flops_per_gpu, log.mfu)
    for value, expected in zip(found, SAYS[title], strict=True):
        assert (value is None) == (expected is None), (found, SAYS[title])
        assert value is None or expected is None or abs(value / expected - 1) < 2e-3, found


@each("family", LOG_FAMILIES, ids=lambda family: f"{family.name}, {family.rank}")
def test_a_sample_is_matched_by_its_own_family_first(family: LogFamily) -> None:
    lines = family.sample.splitlines()
    assert any(family.step.search(line) for line in lines)
    for line in lines:
        if family.step.search(line):
            first = next(one for one in LOG_FAMILIES if one.step.search(line))
            assert first.name == family.name


def test_every_output_that_is_refused_by_name_has_a_sample_here() -> None:
    assert set(FOREIGN_SAMPLES) == {*FOREIGN_FAMILIES, *FOREIGN_TOOLS}


@each("name", FOREIGN_FAMILIES)
def test_a_family_that_is_not_read_is_refused_by_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "printed.log"
    path.write_text(f"some other line\n{FOREIGN_SAMPLES[name]}\n" * 3)
    (found,) = read_files([path])
    assert isinstance(found, UnreadFile)
    assert f"looks like a log of {name}, which is not read" in found.error
    assert "torchtitan" in found.error


@each("name", FOREIGN_TOOLS)
def test_output_of_a_tool_that_is_not_read_is_refused_with_what_to_send(name: str, tmp_path: Path) -> None:
    path = tmp_path / "printed.txt"
    path.write_text(f"some other line\n{FOREIGN_SAMPLES[name]}\n\n" * 3)
    (found,) = read_files([path])
    assert isinstance(found, UnreadFile)
    assert f"looks like the output of {name}, which is not read" in found.error
    assert FOREIGN_TOOLS[name].instead in found.error


def test_totals_in_quotes_are_those_of_the_trainer(tmp_path: Path) -> None:
    steps = "".join(f"{{'loss': '1.{i}', 'epoch': '0.0{i}'}}\n" for i in range(1, 9))
    totals = "{'train_runtime': '201.2', 'train_steps_per_second': '0.5', 'epoch': '1'}\n"
    log = read(tmp_path, steps + totals)
    assert (log.family, log.step_time) == ("hf-trainer", 2.0)
