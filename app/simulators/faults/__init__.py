"""A run that fails at random and restarts from its last checkpoint."""

from app.simulators.faults.restarts import FaultyRun, least_wasteful, run_once, run_until

__all__ = ["FaultyRun", "least_wasteful", "run_once", "run_until"]
