"""Every call of the API with what schemathesis makes of its description: none may be a fault.

It is installed apart from what the tests use, as pip-audit is: it has many dependencies. The same
seed makes the same requests each time.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.core.folders import ROOT
from tests.bench.figures import Figure
from tests.bench.load import server

_PLACE = Path(sys.prefix) / "contract"
_TOOL = _PLACE / "bin" / "schemathesis"
_SECONDS = 1_800
_OPTIONS = (
    "--checks=not_a_server_error", "--phases=coverage,fuzzing", "--max-examples=40", "--seed=13",
    "--continue-on-failure", "--generation-database=none", "--no-color", "--report=json",
    "--warnings=off", "--request-timeout=30",
)  # fmt: skip


def measure() -> Iterator[Figure]:
    """How many operations were called with how many requests, and the faults among them."""
    if not _TOOL.exists():
        venv.create(_PLACE, with_pip=True)
        install = ("-m", "pip", "install", "--quiet", "schemathesis")
        subprocess.run((_PLACE / "bin" / "python", *install), check=True)
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running:
        token = _token_of_a_class(Path(folder))
        report = _called(f"http://127.0.0.1:{running.port}", token, Path(folder))
    yield from figures_of(report)


def figures_of(report: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures in the JSON of a run of schemathesis."""
    assert report["operations"]["tested"] == report["operations"]["total"], report["operations"]
    yield Figure("API: requests from its description", report["test_cases"]["generated"], "")
    yield Figure("API: faults of the server", report["test_cases"]["unique_failures"], "", goal=0)


def _token_of_a_class(folder: Path) -> str:
    """A token that may do everything, where there is a class to do it to."""
    environment = {**os.environ, "WALLCLOCK_DATABASE": f"sqlite:///{folder / 'keeps'}.db"}
    for command in (("class", "create", "Systems"), ("token", "create", "contract", "--scope", "admin")):
        done = subprocess.run(
            (sys.executable, "-m", "app", *command),
            env=environment, cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
    return done.stdout.strip()


def _called(origin: str, token: str, folder: Path) -> Mapping[str, Any]:
    """The report of a run against the server at *origin*."""
    file = folder / "report.json"
    command = (
        _TOOL, "run", f"{origin}/api/v1/openapi.json", "--header", f"Authorization: Bearer {token}", *_OPTIONS,
        f"--report-json-path={file}",
    )  # fmt: skip
    subprocess.run(command, cwd=folder, stdout=sys.stderr, check=False, timeout=_SECONDS)
    report: Mapping[str, Any] = json.loads(file.read_bytes())
    return report
