"""Labs: predict a number, run the real experiment, see both side by side.

A lab is a folder of `library`: its `lab.yaml` says what is measured, with which parameters and
which formula predicts it; its `worker.py` is what every rank runs, fixed code that a learner can
only give numbers to. Nothing here imports torch but what the ranks run.
"""

from app.labs.analysis import report_of
from app.labs.launch.local import Runner
from app.labs.report import Measure, Report
from app.labs.run import Launcher, Run
from app.labs.spec import Job, Lab, known_labs, lab_called, read_job

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
