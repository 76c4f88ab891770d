"""Known vulnerabilities of the packages in constraints.txt: `make advisories`.

pip-audit asks the databases. Not every index of packages has their data, and one that has none
answers as if nothing were known: a version that is known to be vulnerable tells them apart. Where
no database can be asked, this says so, and nothing is checked.
"""

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.folders import ROOT

CONSTRAINTS = ROOT / "constraints.txt"
PLACE = Path(sys.prefix) / "advisories"  # apart from what the tests use
SERVICES = ("pypi", "osv")
VULNERABLE = "jinja2==2.10"  # GHSA-462w-v97r-4m45, of 2019
SECONDS = 600


@dataclass(frozen=True)
class Audit:
    """What a database says: the packages that it knows, and a line for each vulnerability."""

    checked: tuple[str, ...]
    skipped: tuple[str, ...]
    found: tuple[str, ...]


def audit_in(answer: Mapping[str, object]) -> Audit:
    """What the JSON of pip-audit says."""
    rows = answer["dependencies"]
    assert isinstance(rows, list)
    found = (
        f"{row['name']} {row['version']}: {one['id']}"
        + (f", corrected in {', '.join(one['fix_versions'])}" if one["fix_versions"] else "")
        for row in rows
        for one in row.get("vulns", ())
    )
    return Audit(
        checked=tuple(row["name"] for row in rows if "skip_reason" not in row),
        skipped=tuple(row["name"] for row in rows if "skip_reason" in row),
        found=tuple(found),
    )


def ask(service: str, pins: str) -> Audit | None:
    """What the *service* says about the *pins*; None if it cannot be asked."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pins.txt"
        file.write_text(pins, encoding="utf-8")
        options = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json")
        command = (PLACE / "bin" / "pip-audit", "-r", file, "-s", service, *options)
        try:
            done = _run(command)
        except subprocess.TimeoutExpired:
            return None
    try:
        return audit_in(json.loads(done.stdout))
    except ValueError:  # a traceback instead
        return None


def knows(audit: Audit | None) -> bool:
    """Whether a database that was asked about a vulnerable version has its data."""
    return audit is not None and bool(audit.found)


def report(audit: Audit | None) -> tuple[str, int]:
    """What to print, and the exit code."""
    if audit is None:
        return "not checked: no database of advisories can be reached from here", 0
    lines = [*audit.found, f"{len(audit.checked)} packages checked, {len(audit.found)} advisories"]
    if audit.skipped:
        lines.append(f"not checked: {', '.join(audit.skipped)}")
    return "\n".join(lines), 1 if audit.found else 0


def _run(command: Sequence[str | Path]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)


def _pins() -> str:
    if CONSTRAINTS.exists():
        return CONSTRAINTS.read_text(encoding="utf-8")
    return _run((sys.executable, "-m", "pip", "freeze", "--exclude-editable")).stdout


def _is_installed() -> bool:
    """Whether pip-audit is there, after it was installed if it was not."""
    if not (PLACE / "bin" / "pip-audit").exists():
        venv.create(PLACE, with_pip=True)
        _run((PLACE / "bin" / "python", "-m", "pip", "install", "--quiet", "pip-audit"))
    return (PLACE / "bin" / "pip-audit").exists()


def main() -> int:
    """Ask the first database that has data."""
    if not _is_installed():
        sys.stdout.write("not checked: pip-audit cannot be installed from here\n")
        return 0
    usable = next((one for one in SERVICES if knows(ask(one, VULNERABLE))), "")
    said, code = report(ask(usable, _pins()) if usable else None)
    sys.stdout.write(f"{said}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
