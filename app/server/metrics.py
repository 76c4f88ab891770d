"""What the server counts and measures, for Prometheus; `deploy/grafana` draws it.

Several processes of one server share a folder of counters, which the environment names before
this module is imported; each of them can then answer for all.
"""

import os
from functools import cache
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

_SHARED = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 1, 3, 10)
_ROWS = (1, 2, 5, 10, 25, 50, 100, 250, 1000)
TYPE = CONTENT_TYPE_LATEST

REQUESTS = Counter("wallclock_requests", "Requests, by method, route and status", ["method", "route", "status"])
REQUEST_SECONDS = Histogram(
    "wallclock_request_seconds", "Seconds until a response is sent", ["route"], buckets=_SECONDS
)
VERDICTS = Counter("wallclock_verdicts", "Answers judged, by kind of exercise and verdict", ["kind", "verdict"])
SANDBOX_RUNS = Counter(
    "wallclock_sandbox_runs", "Programs run, by outcome: finished, or why one was stopped", ["outcome"]
)
SANDBOX_KILLS = Counter("wallclock_sandbox_kills", "Workers of the sandbox killed and replaced")
SANDBOX_WAITING = Gauge("wallclock_sandbox_waiting", "Programs that wait", multiprocess_mode="livesum")
SANDBOX_BUSY = Gauge("wallclock_sandbox_busy", "Workers that run one", multiprocess_mode="livesum")
SANDBOX_WORKERS = Gauge("wallclock_sandbox_workers", "Workers", multiprocess_mode="livesum")
SANDBOX_SERVERS = Gauge(
    "wallclock_sandbox_servers",
    "Sandbox servers that are ready, of those in WALLCLOCK_SANDBOX_AT",
    multiprocess_mode="mostrecent",
)
WRITER_WAITING = Gauge("wallclock_writer_waiting", "Rows that wait to be stored", multiprocess_mode="livesum")
WRITER_ROWS = Histogram("wallclock_writer_rows", "Rows stored by one commit", buckets=_ROWS)
WRITER_SECONDS = Histogram("wallclock_writer_seconds", "Seconds of a commit", buckets=_SECONDS)
LAB_RUNS = Counter("wallclock_lab_runs", "Lab runs that ended, by state", ["state"])
LAB_RUNS_WAITING = Gauge("wallclock_lab_runs_waiting", "Lab runs in the queue", multiprocess_mode="mostrecent")
LAB_RUNS_RUNNING = Gauge("wallclock_lab_runs_running", "Lab runs under way", multiprocess_mode="mostrecent")
SCORES = Counter("wallclock_scores_sent", "Scores sent to learning platforms, by result", ["result"])
OUTBOX_WAITING = Gauge("wallclock_outbox_waiting", "Scores that wait to be sent", multiprocess_mode="mostrecent")
OUTBOX_REFUSED = Gauge("wallclock_outbox_refused", "Scores that a platform refuses", multiprocess_mode="mostrecent")


@cache
def verdicts(kind: str, verdict: str) -> Counter:
    """The counter of a *verdict* on exercises of a *kind*."""
    return VERDICTS.labels(kind, verdict)


def is_shared() -> bool:
    """Whether several processes add up their counts."""
    return _SHARED in os.environ


def folder() -> Path:
    """Where the processes add up their counts."""
    return Path(os.environ[_SHARED])


def exposition() -> bytes:
    """Every metric, in the text format of Prometheus."""
    if not is_shared():
        return generate_latest(REGISTRY)
    for file in folder().glob("gauge_live*_*.db"):
        process = file.stem.rpartition("_")[2]
        if process.isdigit() and not Path(f"/proc/{process}").exists() and Path("/proc").is_dir():
            mark_process_dead(int(process), str(folder()))  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder()))  # type: ignore[no-untyped-call]
    return generate_latest(registry)
