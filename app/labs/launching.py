"""Who starts runs, as the settings say."""

from app.config import Settings
from app.labs.launch.local import Runner
from app.labs.launch.slurm import Slurm
from app.labs.run import Launcher


def launcher_of(settings: Settings) -> Launcher:
    """This machine, or a cluster."""
    return Slurm(settings) if settings.lab_launcher == "slurm" else Runner(settings.runs)
