"""Whether code can run."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Health:
    """A state, a sentence on it for everybody, and the *cause* for who runs the server."""

    state: Literal["starting", "ready", "off"]
    says: str
    cause: str = ""


STARTING = Health("starting", "The sandbox is being prepared; this takes about half a minute.")
READY = Health("ready", "The sandbox is ready.")
NOT_STARTED = Health("off", "The sandbox has not been started.")
STOPPING = Health("off", "The server is stopping.")


def off(cause: str) -> Health:
    """No code can run, because of *cause*."""
    says = "This server cannot run programs right now; its log says why. Everything else works."
    return Health("off", says, cause)
