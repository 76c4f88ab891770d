"""Runs that others measured and published, and what the formulas say of them.

A file in `data` is a source: tables as they were printed, each row with a whole layout. What a row
leaves open is written down as an assumption, and what sets it apart from the formulas as a reason.
Simulations are not among them: every row was measured.
"""

from app.published.predicting import (
    NEAR,
    Accuracy,
    Outcome,
    Prediction,
    accuracy,
    outcome,
    outcomes,
)
from app.published.rows import Machine, Printed, PublishedRun, Source, Table, degrees
from app.published.sources import published_run, published_runs, read_source, sources

__all__ = [
    "NEAR",
    "Accuracy",
    "Machine",
    "Outcome",
    "Prediction",
    "Printed",
    "PublishedRun",
    "Source",
    "Table",
    "accuracy",
    "degrees",
    "outcome",
    "outcomes",
    "published_run",
    "published_runs",
    "read_source",
    "sources",
]
