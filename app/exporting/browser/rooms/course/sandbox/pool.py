"""In place of the sandbox's processes, in a browser: a worker that is stopped when time is up."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SandboxHealth:
    """Whether code can run: it can."""

    state: str = "ready"
    says: str = ""
    cause: str = ""
