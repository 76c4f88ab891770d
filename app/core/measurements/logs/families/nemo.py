"""NeMo: the lines of its versions 1 and 2, whose iterations begin again in each epoch."""

import re

from app.core.measurements.logs.families.base import LogFamily

NEMO = LogFamily(
    name="nemo",
    title="NeMo",
    step=re.compile(
        r"\bglobal_step[:=] ?(?P<step>\d{1,15})(?:\.0)?\b(?=.{0,600}train_step_timing)"
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
