"""Labs: predict a number, run the real experiment, see both side by side.

A lab is a folder in `library`: its `lab.yaml` says what is measured, with which parameters, and
which formula predicts it; its `worker.py` is the program of every rank, fixed code to which a
learner can only give numbers. Only what the ranks run imports torch.
"""

from app.labs.analysis import report_of
from app.labs.report import Measure, Report
from app.labs.run import Run
from app.labs.spec import Job, Lab, known_labs, lab_called, read_job

__all__ = [
    "Job",
    "Lab",
    "Measure",
    "Report",
    "Run",
    "known_labs",
    "lab_called",
    "read_job",
    "report_of",
]
