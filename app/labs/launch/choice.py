"""The launcher that the settings choose.

Apart from the queue, so that the command line does not have to import the database.
"""

from app.labs.launch.base import Launcher
from app.labs.launch.local import LocalLauncher
from app.labs.launch.slurm import SlurmLauncher
from app.server.config import Settings


def launcher_of(settings: Settings) -> Launcher:
    """This machine, or a Slurm cluster."""
    if settings.lab_launcher == "slurm":
        return SlurmLauncher(settings)
    return LocalLauncher(settings.runs, settings.lab_starting)
