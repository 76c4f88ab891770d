"""In place of the queue for the sandbox, in a browser, which runs programs for one learner."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """Who a run is scheduled for."""

    name: str
