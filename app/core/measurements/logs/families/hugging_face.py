"""The Trainer of Hugging Face, and what is built on it: LLaMA-Factory, axolotl, TRL, ms-swift."""

import re

from app.core.measurements.logs.families.base import LogFamily

TRAINER_LOG = LogFamily(
    name="hf-trainer",
    title="Hugging Face Trainer",
    step=re.compile(r"[\"']current_steps[\"']: (?P<step>\d{1,15}), [\"']total_steps[\"']: (?P<total>\d{1,15})"),
    settings_of=("megatron",),
    sample="""\
{"current_steps": 10, "total_steps": 100, "loss": 1.5, "lr": 1e-05, "epoch": 0.1, "percentage": \
10.0, "elapsed_time": "0:01:23", "remaining_time": "0:12:27", "throughput": 5121.7}
{"current_steps": 20, "total_steps": 100, "loss": 1.4, "lr": 1e-05, "epoch": 0.2, "percentage": \
20.0, "elapsed_time": "0:02:44", "remaining_time": "0:10:56", "throughput": 5180.2}
""",
    source="made, after hiyouga/LLaMA-Factory, src/llamafactory/train/callbacks.py",
)
TRAINER_BAR = LogFamily(
    name="hf-trainer",
    title="Hugging Face Trainer",
    step=re.compile(r"^\s{0,30}\d{1,3}%\|[^|]{0,300}\| {0,30}(?P<step>\d{1,15})/(?P<total>\d{1,15}) \["),
    companion=True,
    rank=9,
    settings_of=("megatron",),
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
