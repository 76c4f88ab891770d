"""Lighthouse: four scores for each page, as a phone on a slow line and as a desktop."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.bench.figures import Figure
from tools.audit.npm import installed

_VERSION = "12"
_LONGEST = 180  # seconds of a run
_FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run"
_GOALS = {
    "phone": {"performance": 98, "accessibility": 100, "best-practices": 100, "seo": 100},
    "desktop": {"performance": 100, "accessibility": 100, "best-practices": 100, "seo": 100},
}
_NO_INDEX = {"not found"}  # says 404, so a search engine has nothing to do there


def measure(
    origin: str, pages: Mapping[str, str], browser: str, runs: int, goals: Mapping[str, int] | None = None
) -> Iterator[Figure]:
    """The middle of *runs* for each page, form factor and category; *goals* in place of the site's.

    When more than half of the runs have met every goal, the middle one meets it whatever the
    others would say: they are left out.
    """
    program = installed("lighthouse", _VERSION) / "cli" / "index.js"
    for page, path in pages.items():
        if page in _NO_INDEX:
            continue
        for form, ours in _GOALS.items():
            asked = goals or ours
            found = _until_decided(program, origin + path, browser, form, runs, asked)
            for name, goal in asked.items():
                middle = sorted(run[name] for run in found)[len(found) // 2]
                yield Figure(f"{page}, {form}: {name}", middle, "", goal, "higher")


def _until_decided(
    program: Path, address: str, browser: str, form: str, runs: int, goals: Mapping[str, int]
) -> list[dict[str, float]]:
    found: list[dict[str, float]] = []
    good = 0
    while len(found) < runs and good <= runs // 2:
        found.append(_scores(program, address, browser, form))
        good += all(found[-1][name] >= goal for name, goal in goals.items())
    return found


def _scores(program: Path, address: str, browser: str, form: str) -> dict[str, float]:
    environment = {**os.environ, "CHROME_PATH": browser}
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        command = ["node", str(program), address, "--quiet", "--output=json"]
        command += [f"--output-path={found}", f"--chrome-flags={_FLAGS}"]
        command += ["--preset=desktop"] if form == "desktop" else []
        # Into no pipe: a browser that stays behind would keep it open for ever.
        subprocess.run(
            command, env=environment, check=True, timeout=_LONGEST, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        categories = json.loads(found.read_text())["categories"]
    return {name: round(100 * kind["score"]) for name, kind in categories.items()}
