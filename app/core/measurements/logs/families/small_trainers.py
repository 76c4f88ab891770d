"""Small programs that students train with: nanoGPT, nanochat, litgpt, torchtune."""

import re

from app.core.measurements.logs.families.base import LogFamily

NANOGPT = LogFamily(
    name="nanogpt",
    title="nanoGPT",
    step=re.compile(r"\biter (?P<step>\d{1,15}): loss \S+, time (?=\d)"),
    mfu_of="nanoGPT divides by the peak of an A100, 312 TFLOP/s, on every GPU",
    mfu_peak=312e12,
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
    mfu_of="nanochat divides by the peak of an H100, 989 TFLOP/s, for a GPU that it does not know",
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
