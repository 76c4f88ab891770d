"""The families of training logs: how a line of a step looks in each, and what its numbers mean."""

import re
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFamily:
    """What one framework prints for a step.

    *step* finds a line of a step. Its groups are the number, `step`; or `epoch`, `within` and `total` of an epoch, of
    which the number follows; `total` tells two runs apart; `micro` counts the micro-batches of which a step is the sum.
    *below*: the numbers are on the lines that follow. *companion*: a library that prints beside another family, whose
    run it shares. *mfu_scale* is that of an MFU without a percent sign, and *mfu_of* says what it divides by where that
    is known to be wrong. *rate_fault* is what is known to be wrong with a rate of samples. *sample* is text of it with
    its *source*.
    """

    name: str
    title: str
    step: re.Pattern[str]
    sample: str
    source: str
    stack: str = ""  # families that share one count of steps, by the name of one of them
    rank: int = 5  # of several families that match a line, and whose numbers count: the lowest
    below: bool = False
    companion: bool = False
    printed_once: bool = False  # by one rank: the same step with other numbers is of another run
    settings_of: tuple[str, ...] = ()  # families whose lines of settings stand above its steps
    mfu_scale: float = 0.0
    mfu_of: str = ""
    mfu_peak: float = 0.0  # by which every MFU of the family divides
    mfu_fixed: bool = False  # whether it divides by the same peak on every GPU, or did
    mfu_phase: str = ""  # of which its MFU is, where that is not the whole step
    rate_fault: str = ""

    @property
    def counter(self) -> str:
        """The name of the count of steps: each companion has its own."""
        return self.step.pattern if self.companion else self.stack or self.name


NANOGPT = LogFamily(
    name="nanogpt",
    title="nanoGPT",
    step=re.compile(r"\biter (?P<step>\d{1,15}): loss \S+, time (?=\d)"),
    mfu_of="nanoGPT divides by the peak of an A100, 312 TFLOP/s, on every GPU",
    mfu_peak=312e12,
    mfu_fixed=True,
    sample="""\
iter 100: loss 4.1231, time 135.22ms, mfu 37.91%
iter 110: loss 4.0120, time 135.31ms, mfu 37.90%
iter 120: loss 3.9511, time 135.27ms, mfu 37.91%
""",
    source="made, after karpathy/nanoGPT, train.py",
)
NANOCHAT = LogFamily(
    name="nanochat",
    title="nanochat",
    step=re.compile(r"\bstep\s{1,9}(?P<step>\d{1,15})\b[^|]{0,40}\|\s*loss:(?=.{0,300}\bdt:)"),
    mfu_scale=0.01,
    mfu_fixed=True,
    mfu_of="nanochat of 2025, and autoresearch with its lines, divide by the peak of an H100, 989 TFLOP/s, on any GPU",
    sample="""\
GPU: NVIDIA GeForce RTX 4090
step 00042 (14%) | loss: 4.123456 | lrm: 0.0412 | dt: 118.32ms | tok/sec: 4429.1 | mfu: 41.22 | \
epoch: 1 | remaining: 246s
step 00043 (14%) | loss: 4.120001 | lrm: 0.0412 | dt: 118.30ms | tok/sec: 4430.0 | mfu: 41.23 | \
epoch: 1 | remaining: 246s
""",
    source="made, after karpathy/nanochat, scripts/base_train.py",
)
LITGPT = LogFamily(
    name="litgpt",
    title="litgpt",
    step=re.compile(
        r"\bEpoch \d{1,9} \| iter (?P<micro>\d{1,15}) step (?P<step>\d{1,15}) \|"
        r"(?=.{0,300}iter time)"
    ),
    sample="""\
Epoch 1 | iter 1 step 0 | loss train: 10.982, val: n/a | iter time: 250.10 ms
Epoch 1 | iter 2 step 1 | loss train: 10.950, val: n/a | iter time: 262.30 ms (step)
Epoch 1 | iter 3 step 1 | loss train: 10.921, val: n/a | iter time: 250.20 ms
Epoch 1 | iter 4 step 2 | loss train: 10.900, val: n/a | iter time: 262.40 ms (step)
Epoch 1 | iter 5 step 2 | loss train: 10.882, val: n/a | iter time: 250.00 ms
Epoch 1 | iter 6 step 3 | loss train: 10.850, val: n/a | iter time: 262.20 ms (step)
""",
    source="made, after Lightning-AI/litgpt, litgpt/pretrain.py",
)
TORCHTUNE = LogFamily(
    name="torchtune",
    title="torchtune",
    step=re.compile(r"\bStep (?P<step>\d{1,15}) \| loss:(?=.{0,400}tokens_per_second_per_gpu)"),
    sample="""\
Step 1 | loss:1.512 lr:1e-05 tokens_per_second_per_gpu:5120.4
Step 2 | loss:1.498 lr:1e-05 tokens_per_second_per_gpu:5131.9
""",
    source="made, after meta-pytorch/torchtune, torchtune/training/metric_logging.py",
)


_FAULT = (
    "DeepSpeed's samples per second are known to be wrong where its timer leaves a part of the step"
    " out, such as the optimizer"
)
_of_deepspeed = partial(LogFamily, name="deepspeed", title="DeepSpeed", companion=True, settings_of=("megatron",))
PIPELINE_ENGINE = _of_deepspeed(
    step=re.compile(r"\bsteps: {0,30}(?P<step>\d{1,15}) {1,30}loss:"),
    rank=6,
    rate_fault=_FAULT,
    sample="""\
steps: 1 loss: 12.7902 iter time (s): 150.471 samples/sec: 6.805
steps: 2 loss: 12.8004 iter time (s): 145.206 samples/sec: 7.052
""",
    source="bigscience-workshop/bigscience, logs of 2021",
)
ENGINE = _of_deepspeed(
    step=re.compile(
        r"\bglobal_step=(?P<step>\d{1,15}), *RunningAvgSamplesPerSec"
        r"|\bstop\] {1,30}(?:\d{1,15}/)?(?P<step1>\d{1,15}), *(?:RunningAvg)?SamplesPerSec"
    ),
    rank=7,
    rate_fault=_FAULT,
    sample="""\
[2023-07-25 21:03:17,269] [INFO] [timer.py:215:stop] epoch=0/micro_step=34/global_step=34, \
RunningAvgSamplesPerSec=7.864, CurrSamplesPerSec=8.009, MemAllocated=59.65GB
[2023-07-25 21:03:21,372] [INFO] [timer.py:215:stop] epoch=0/micro_step=35/global_step=35, \
RunningAvgSamplesPerSec=7.868, CurrSamplesPerSec=8.011, MemAllocated=59.65GB
""",
    source="deepspeedai/DeepSpeed, issue 3742; the second line is made",
)
RATES_OF_LEARNING = _of_deepspeed(
    step=re.compile(r"\bstep=(?P<step>\d{1,15}), skipped="),
    rank=8,
    sample="""\
[2025-11-10 09:43:39,573] [INFO] [logging.py:107:log_dist] [Rank 0] step=5, skipped=0, lr=[2e-05]
[2025-11-10 09:43:42,973] [INFO] [logging.py:107:log_dist] [Rank 0] step=6, skipped=0, lr=[2e-05]
""",
    source="made, after argonne-lcf/Megatron-DeepSpeed, ALCF/notes",
)


TORCHTITAN = LogFamily(
    name="torchtitan",
    title="torchtitan",
    step=re.compile(r"\bstep:\s{0,30}(?P<step>\d{1,15})\s{1,30}(?:loss|grad_norm|memory|tps|wps):"),
    settings_of=("torchtitan",),
    sample="""\
[rank0]:[titan] 2025-06-16 22:30:16,100 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with \
94.99GiB memory
[rank0]:[titan] 2025-06-16 22:30:17,100 - root - INFO - Peak FLOPS used for computing MFU: 9.890e+14
[rank0]:[titan] 2025-06-16 22:31:18,934 - root - INFO - step: 220  loss:  6.0348  memory: \
49.66GiB(52.28%)  tps: 5,868  tflops: 339.82  mfu: 34.36%
[rank0]:[titan] 2025-06-16 22:31:32,895 - root - INFO - step: 230  loss:  5.9670  memory: \
49.66GiB(52.28%)  tps: 5,869  tflops: 339.88  mfu: 34.37%
[rank0]:[titan] 2025-06-16 22:31:46,869 - root - INFO - step: 240  loss:  5.8311  memory: \
49.66GiB(52.28%)  tps: 5,864  tflops: 339.59  mfu: 34.34%
""",
    source="pytorch/torchtitan, pull request 1287; the line of the peak is made",
    mfu_of="torchtitan divides by the peak of an A100, 312 TFLOP/s, for a GPU it does not know",
)


VERL = LogFamily(
    name="verl",
    title="verl",
    step=re.compile(r"\bstep:(?P<step>\d{1,15}) - (?=\w+/)"),
    mfu_scale=1.0,
    mfu_phase="the update of the actor",
    settings_of=("megatron",),
    sample="""\
(TaskRunner pid=247607) step:1 - global_seqlen/min:159906 - actor/entropy:0.0976 - perf/mfu/actor:\
0.321 - timing_s/gen:30.1 - timing_s/step:49.091 - perf/total_num_tokens:1279248 - \
perf/time_per_step:49.091 - perf/throughput:3257.33
(TaskRunner pid=247607) step:2 - global_seqlen/min:161010 - actor/entropy:0.0961 - perf/mfu/actor:\
0.324 - timing_s/gen:29.7 - timing_s/step:48.700 - perf/total_num_tokens:1288080 - \
perf/time_per_step:48.700 - perf/throughput:3306.16
""",
    source="made, after volcengine/verl, verl/utils/logger/aggregate_logger.py",
)


OLMO_CORE = LogFamily(
    name="olmo-core",
    title="OLMo-core",
    step=re.compile(r"\[step=(?P<step>\d{1,15})/(?P<total>\d{1,15})[,\]]"),
    below=True,
    mfu_scale=0.01,
    mfu_of="OLMo-core divides by the peak of an A100 for a GPU that it does not know",
    sample="""\
2025-03-01 10:00:10.120\tnode0:0\tolmo_core.train.callbacks.console_logger:96\tINFO\t\
[step=10/2384,epoch=1,eta=12:00:00]
    optim/LR (group 0)=0.0004
    throughput/device/MFU=41.20
    throughput/device/TPS=12,345
    train/CE loss=6.120
2025-03-01 10:00:27.120\tnode0:0\tolmo_core.train.callbacks.console_logger:96\tINFO\t\
[step=20/2384,epoch=1,eta=12:00:00]
    optim/LR (group 0)=0.0004
    throughput/device/MFU=41.22
    throughput/device/TPS=12,351
    train/CE loss=5.980
""",
    source="made, after allenai/OLMo-core, src/olmo_core/train/callbacks/console_logger.py",
)


NEMO = LogFamily(
    name="nemo",
    title="NeMo",
    step=re.compile(
        r"\bglobal_step\"?[:=] ?(?P<step>\d{1,15})(?:\.0)?\b(?=.{0,600}train_step_timing)"
        r"|\bTraining epoch (?P<epoch>\d{1,9}), iteration (?P<within>\d{1,15})/(?P<total>\d{1,15})"
        r"(?!.{0,600}global_step)(?=.{0,600}train_step_timing)"
        r"|\bEpoch (?P<epoch1>\d{1,9})\s?:.{0,200}?\s(?P<within1>\d{1,15})/(?P<total1>\d{1,15}) \["
        r"(?!.{0,600}global_step)(?=.{0,600}train_step_timing)"
    ),
    rank=3,
    settings_of=("megatron",),
    sample="""\
Training epoch 0, iteration 998/999 | lr: 5.6e-06 | global_batch_size: 32 | global_step: 998 | \
reduced_train_loss: 2.778 | train_step_timing in s: 4.011 | TFLOPS_per_GPU: 4.301e+02
Training epoch 0, iteration 999/999 | lr: 5.6e-06 | global_batch_size: 32 | global_step: 999 | \
reduced_train_loss: 2.771 | train_step_timing in s: 4.006 | TFLOPS_per_GPU: 4.306e+02
Training epoch 1, iteration 0/999 | lr: 5.6e-06 | global_batch_size: 32 | global_step: 1000 | \
reduced_train_loss: 2.764 | train_step_timing in s: 4.009 | TFLOPS_per_GPU: 4.303e+02
""",
    source="made, after NVIDIA-NeMo/NeMo, nemo/lightning/pytorch/callbacks/progress_printer.py",
)


NANOTRON = LogFamily(
    name="nanotron",
    title="nanotron",
    step=re.compile(r"\biteration: (?P<step>\d{1,15}) / (?P<total>\d{1,15})(?= \| consumed_|$| *\|)"),
    rank=2,
    settings_of=("megatron",),
    sample="""\
10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=0]: iteration: 327281 / 378950 | consumed_tokens: 85.8G | \
elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 11.4K | \
global_batch_size: 64 | lm_loss: 2.38 | model_tflops_per_gpu: 38.3 | hardware_tflops_per_gpu: 38.3
10/17/2025 16:32:07 [INFO|DP=0|PP=0|TP=0]: iteration: 327282 / 378950 | consumed_tokens: 85.8G | \
elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 11.4K | \
global_batch_size: 64 | lm_loss: 2.35 | model_tflops_per_gpu: 38.3 | hardware_tflops_per_gpu: 38.3
""",
    source="huggingface/nanotron, issue 390, shortened",
)


MAXTEXT = LogFamily(
    name="maxtext",
    title="MaxText",
    step=re.compile(r"\bcompleted step:\s{0,30}(?P<step>\d{1,15})"),
    sample="""\
completed step: 18, seconds: 11.722, TFLOP/s/device: 348.548, Tokens/s/device: 6760.245, loss: 1.540
completed step: 19, seconds: 11.716, TFLOP/s/device: 348.750, Tokens/s/device: 6760.245, loss: 1.531
""",
    source="made, after AI-Hypercomputer/maxtext, src/maxtext/metric_logger.py",
)


MEGATRON = LogFamily(
    name="megatron",
    title="Megatron-LM",
    step=re.compile(r"\biteration\s{0,30}[:=]?\s{0,30}(?P<step>\d{1,15})\s{0,30}/\s{0,30}(?P<total>\d{1,15}|infinity)"),
    settings_of=("megatron",),
    printed_once=True,
    sample="""\
  world_size ...................................... 16
  seq_length ...................................... 2048
 [2024-04-06 02:59:36] iteration       43/     100 | consumed samples:         5504 | elapsed time \
per iteration (ms): 5444.9 | throughput per GPU (TFLOP/s/GPU): 239.8 | global batch size:   128 |
 [2024-04-06 02:59:41] iteration       44/     100 | consumed samples:         5632 | elapsed time \
per iteration (ms): 5533.8 | throughput per GPU (TFLOP/s/GPU): 236.0 | global batch size:   128 |
 [2024-04-06 02:59:47] iteration       45/     100 | consumed samples:         5760 | elapsed time \
per iteration (ms): 5718.6 | throughput per GPU (TFLOP/s/GPU): 228.4 | global batch size:   128 |
""",
    source="NVIDIA/Megatron-LM, issue 756; the arguments are made",
)
PRIMUS = LogFamily(
    name="primus",
    title="Primus",
    stack="megatron",
    step=re.compile(
        r"^(?=.*rocm mem).*?\biteration\s{1,30}(?P<step>\d{1,15})\s{0,30}/\s{0,30}"
        r"(?P<total>\d{1,15})"
    ),
    rank=4,
    settings_of=("megatron",),
    printed_once=True,
    sample="""\
[2026-07-02 10:00:00] iteration        8/      50 | consumed samples:          512 | elapsed time \
per iteration (ms): 4012.2/4050.1 | rocm mem usage: 150.1GB | Compute per GPU (TFLOP/s/GPU): \
501.2/498.8 | tokens per GPU (tokens/s/GPU): 10208.9/10111.0 | global batch size:    64 |
[2026-07-02 10:00:04] iteration        9/      50 | consumed samples:          576 | elapsed time \
per iteration (ms): 4015.0/4046.2 | rocm mem usage: 150.1GB | Compute per GPU (TFLOP/s/GPU): \
500.9/499.0 | tokens per GPU (tokens/s/GPU): 10201.7/10120.9 | global batch size:    64 |
""",
    source="made, after AMD-AGI/Primus, pull request 842",
)
ALCF = LogFamily(
    name="megatron-deepspeed",
    title="Megatron-DeepSpeed",
    stack="megatron",
    step=re.compile(r"\biteration=\s{0,30}(?P<step>\d{1,15})\s{0,30}/\s{0,30}(?P<total>\d{1,15})"),
    rank=4,
    settings_of=("megatron",),
    printed_once=True,
    sample="""\
[2025-11-10 09:43:39,573] [INFO] [logging.py:107:log_dist] [Rank 0] step=136005, skipped=0
[2025-11-10 09:43:39,573] [INFO] [timer.py:264:stop] epoch=0/micro_step=5/global_step=5, \
RunningAvgSamplesPerSec=2443.95, CurrSamplesPerSec=2553.44, MemAllocated=3.71GB
[2025-11-10 09:43:39,582716][I][megatron/training_log:402:training_log]  iteration=  136005/  \
136100 | elapsed_time_per_iteration_ms=3420.2 | global_batch_size= 6144 | actual_seqlen= 8192 | \
samples_per_second=1796.410 | tokens_per_gpu_per_second_tgs=4790.426 | TFLOPs=53.59 |
[2025-11-10 09:43:42,986] [INFO] [logging.py:107:log_dist] [Rank 0] step=136006, skipped=0
[2025-11-10 09:43:42,987] [INFO] [timer.py:264:stop] epoch=0/micro_step=6/global_step=6, \
RunningAvgSamplesPerSec=2472.27, CurrSamplesPerSec=2561.32, MemAllocated=3.71GB
[2025-11-10 09:43:42,996173][I][megatron/training_log:402:training_log]  iteration=  136006/  \
136100 | elapsed_time_per_iteration_ms=3412.2 | global_batch_size= 6144 | actual_seqlen= 8192 | \
samples_per_second=1800.621 | tokens_per_gpu_per_second_tgs=4801.655 | TFLOPs=53.72 |
""",
    source="made, after argonne-lcf/Megatron-DeepSpeed, ALCF/notes",
)


_of_the_trainer = partial(LogFamily, name="hf-trainer", title="Hugging Face Trainer", settings_of=("megatron",))
TRAINER_LOG = _of_the_trainer(
    step=re.compile(r"[\"']current_steps[\"']: (?P<step>\d{1,15}), [\"']total_steps[\"']: (?P<total>\d{1,15})"),
    sample="""\
{"current_steps": 10, "total_steps": 100, "loss": 1.5, "lr": 1e-05, "epoch": 0.1, "percentage": \
10.0, "elapsed_time": "0:01:23", "remaining_time": "0:12:27", "throughput": 5121.7}
{"current_steps": 20, "total_steps": 100, "loss": 1.4, "lr": 1e-05, "epoch": 0.2, "percentage": \
20.0, "elapsed_time": "0:02:44", "remaining_time": "0:10:56", "throughput": 5180.2}
""",
    source="made, after hiyouga/LLaMA-Factory, src/llamafactory/train/callbacks.py",
)
SWIFT_LOG = _of_the_trainer(
    step=re.compile(r"[\"']global_step/max_steps[\"']: ?[\"'](?P<step>\d{1,15})/(?P<total>\d{1,15})[\"']"),
    sample="""\
{"loss": 1.5, "epoch": 0.1, "global_step/max_steps": "10/100", "elapsed_time": "1m 23s", "train_speed(s/it)": 8.3}
{"loss": 1.4, "epoch": 0.2, "global_step/max_steps": "20/100", "elapsed_time": "2m 45s", "train_speed(s/it)": 8.25}
""",
    source="made, after modelscope/ms-swift, swift/trainers",
)
PRIME_RL = LogFamily(
    name="prime-rl",
    title="prime-rl",
    step=re.compile(r"\bStep (?P<step>\d{1,15}) \| Time: (?=\d)"),
    mfu_scale=0.01,
    sample="""\
22:10:01    INFO Step 10 | Time: 5.21s | Loss: 0.1021 | Grad. Norm: 0.4012 | LR: 1.00e-05 | Throughput: 49720 \
tokens/s | MFU: 26.6% | Peak Mem.: 54.6/79.2 GiB (68.9%)
22:10:06    INFO Step 11 | Time: 5.19s | Loss: 0.1012 | Grad. Norm: 0.4010 | LR: 1.00e-05 | Throughput: 49910 \
tokens/s | MFU: 26.8% | Peak Mem.: 54.6/79.2 GiB (68.9%)
""",
    source="made, after PrimeIntellect-ai/prime-rl, src/prime_rl/trainer",
)
TRAINER_BAR = _of_the_trainer(
    step=re.compile(r"^\s{0,30}\d{1,3}%\|[^|]{0,300}\| {0,30}(?P<step>\d{1,15})/(?P<total>\d{1,15}) \["),
    companion=True,
    rank=9,
    sample="""\
{'loss': 1.6801, 'grad_norm': 1.0225, 'learning_rate': 0.0001, 'epoch': 0.02}
  2%|#         | 200/10000 [03:45<3:04:00,  1.13s/it]
  2%|#         | 210/10000 [03:56<3:04:00,  1.13s/it]
  2%|#         | 220/10000 [04:08<3:04:00,  1.13s/it]
{'train_runtime': 248.6, 'train_samples_per_second': 3.543, 'train_steps_per_second': 0.885, \
'train_loss': 1.2112, 'epoch': 0.32}
""",
    source="made, after huggingface/transformers, src/transformers/trainer.py",
)
