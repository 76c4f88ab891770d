"""Runs that others measured and published, and what the formulas say of them.

A file in `data` is a source: tables as they were printed, each row with a whole layout. What a row
leaves open is written down as an assumption, and what sets it apart from the formulas as a reason.
Simulations are not among them: every row was measured.
"""

from app.core.published.rows import *
from app.core.published.sources import *

__all__ = [
    "NEAR", "PublishedAccuracy", "PublishedMachine", "Outcome", "StepPrediction", "PrintedNumbers", "PublishedRun",
    "Source", "SourceTable", "accuracy", "layout_degrees", "outcome", "outcomes", "published_run", "published_runs",
    "read_source", "sources",
]  # fmt: skip
