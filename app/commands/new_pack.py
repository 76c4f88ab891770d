"""`wallclock new pack`: write a course pack to start from."""

import re
import sys
from argparse import Namespace
from importlib.metadata import version
from pathlib import Path

from app.core.errors import InputError
from app.core.folders import ROOT

_STARTER = ROOT / "templates" / "starters" / "pack"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_WORD = re.compile(r"\b[A-Z]{4,}\b")
_SIMPLE = "size / bandwidth"


def write_pack(arguments: Namespace) -> int:
    """Write the folder of a pack; print what was written and the next step."""
    name = arguments.name
    if not _NAME.fullmatch(name):
        raise InputError(
            f"a pack's name must be lowercase letters, digits and hyphens, and begin with a letter, not {name[:80]!r}"
        )
    folder = Path(arguments.into or ".") / name
    if folder.exists():
        raise InputError(f"{folder} already exists; nothing was changed")
    package = name.replace("-", "_")
    words = {
        "NAME": name,
        "PACKAGE": package,
        "TITLE": name.replace("-", " ").capitalize(),
        "VERSION": version("wallclock"),
        "ANSWER": f"{package}.transfer_time" if arguments.formulas else _SIMPLE,
    }
    try:
        for source, target in _files(name, package, formulas=arguments.formulas).items():
            path = folder / target
            path.parent.mkdir(parents=True, exist_ok=True)
            text = source.read_text(encoding="utf-8") if source else ""
            path.write_text(re.sub(r"\b[A-Z]{4,}\b", lambda w: words.get(w[0], w[0]), text), "utf-8")
            sys.stdout.write(f"{path}\n")
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from error
    check = f"wallclock pack check {'--load-formulas ' if arguments.formulas else ''}"
    sys.stderr.write(f"Prove it with `{check}{folder / package}`.\n")
    return 0


def _files(name: str, package: str, *, formulas: bool) -> dict[Path | None, str]:
    """Each starter, and where it goes."""
    chapter = f"{package}/exercises/{name}"
    files: dict[Path | None, str] = {
        _STARTER / "pyproject.toml": "pyproject.toml",
        _STARTER / "README.md": "README.md",
        None: f"{package}/__init__.py",
        _STARTER / "pack.yaml": f"{package}/pack.yaml",
        _STARTER.parent / "topic.yaml": f"{chapter}/topic.yaml",
        _STARTER / "exercises" / "first.yaml": f"{chapter}/first.yaml",
        _STARTER / "exercises" / "link.svg": f"{chapter}/link.svg",
    }
    if formulas:
        for source in ("example.py", "proofs.yaml"):
            files[_STARTER / "formulas" / source] = f"{package}/formulas/{source}"
    return files
