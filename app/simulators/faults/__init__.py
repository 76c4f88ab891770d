"""A run that fails now and then, and starts again from its last checkpoint."""

from app.simulators.faults.running import Run, least_wasteful, run_once, run_until

__all__ = ["Run", "least_wasteful", "run_once", "run_until"]
