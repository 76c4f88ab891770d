"""`wallclock doctor`: what is there, what is missing, and the cure. It changes nothing."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict

from pydantic import ValidationError

from app.commands.doctor_machine import (
    Check,
    checked_extras,
    checked_files,
    checked_folders,
    checked_port,
    checked_python,
    checked_site,
    missing,
    ok,
)
from app.commands.doctor_parts import checked_course, checked_database, checked_sandbox
from app.server.config import Settings
from app.server.config.problems import setting_problems


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock doctor`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Print every check; 1 if something is missing."""
    found = []
    for check in checks():
        found.append(check)
        if not arguments.json:
            cure = f"; {check.cure}" if check.cure else ""
            sys.stdout.write(f"{check.state:<8} {check.name}: {check.says}{cure}\n")
            sys.stdout.flush()
    healthy = all(check.state != "missing" for check in found)
    if arguments.json:
        rows = {"ok": healthy, "checks": [asdict(check) for check in found]}
        sys.stdout.write(f"{json.dumps(rows, ensure_ascii=False, indent=1)}\n")
    return 0 if healthy else 1


def checks() -> Iterator[Check]:
    """The result of each check, the quick ones first."""
    yield checked_python()
    yield checked_files()
    try:
        settings = Settings()
    except ValidationError as error:
        for says in setting_problems(error):
            yield missing("settings", says, "correct it or unset it; /docs/settings lists every setting")
        return  # everything else depends on them
    changed = sorted(name for name in settings.model_fields_set if name in type(settings).model_fields)
    yield ok("settings", f"from the environment: {', '.join(changed)}" if changed else "defaults")
    yield from checked_folders(settings)
    yield checked_port(settings)
    yield from checked_site(settings)
    yield from checked_extras(settings)
    yield checked_database(settings)
    yield from checked_course(settings)
    yield checked_sandbox(settings)
