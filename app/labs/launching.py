"""Who starts runs, as the settings say."""

from app.config import Settings
from app.labs.running import Runner
from app.labs.runs import Launcher


def launcher_of(settings: Settings) -> Launcher:
    """This machine, or a cluster."""
    return Runner(settings.runs)
