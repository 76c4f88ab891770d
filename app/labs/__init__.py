"""Labs: predict a number, run the real experiment, see both side by side.

A lab is a folder of `library`: its `lab.yaml` says what is measured, with which parameters and
which formula predicts it; its `worker.py` is what every rank runs, fixed code that a learner can
only give numbers to. Nothing here imports torch but what the ranks run.
"""

from app.labs.judging import report_of
from app.labs.reading import Job, Lab, known_labs, lab_called, read_job
from app.labs.reporting import Measure, Report
from app.labs.running import Runner
from app.labs.runs import Launcher, Run

__all__ = [
    "known_labs",
    "Job",
    "Lab",
    "Launcher",
    "Measure",
    "Report",
    "Run",
    "Runner",
    "lab_called",
    "read_job",
    "report_of",
]
