"""Who starts runs, as the settings say."""

from app.config import Settings
from app.labs.running import Runner
from app.labs.runs import Launcher
from app.labs.slurm import Slurm


def launcher_of(settings: Settings) -> Launcher:
    """This machine, or a cluster."""
    return Slurm(settings) if settings.lab_launcher == "slurm" else Runner(settings.runs)
