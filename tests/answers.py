"""Holds every exercise against its own right answers and mistakes: python -m tests.answers [A..B]

Writes them with `wallclock answers`, grades them with `wallclock grade`; 0 if nothing disagrees.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

SEEDS = "0..299"


def main(arguments: list[str]) -> int:
    """The exit code of the grading."""
    seeds = arguments[0] if arguments else SEEDS
    with tempfile.TemporaryDirectory() as folder:
        file, verdicts = Path(folder) / "answers.jsonl", Path(folder) / "verdicts.jsonl"
        wallclock = [sys.executable, "-m", "app"]
        subprocess.run([*wallclock, "answers", "--seeds", seeds, "-o", str(file)], check=True)
        command = [*wallclock, "grade", str(file), "-o", str(verdicts)]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
