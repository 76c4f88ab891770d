"""Tools from npm, installed once into the user's cache."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "wallclock-audit"
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund")


def installed(name: str, version: str) -> Path:
    """The folder of the package *name*, of the major *version*; Node 20 or newer is needed.

    Raises:
        RuntimeError: npm is not there, or could not install it.
    """
    folder = _CACHE / f"{name}-{version}"
    package = folder / "node_modules" / name
    if not package.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _npm(folder, "install", *_OPTIONS, f"{name}@{version}")
    return package


def locked(name: str, source: Path) -> Path:
    """The folder of the package *name*, in the exact versions of the lock file in *source*.

    Raises:
        RuntimeError: npm is not there, or could not install it.
    """
    digest = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()
    folder = _CACHE / f"{name}-{digest[:12]}"
    package = folder / "node_modules" / name
    if not package.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(source / file, folder)
        _npm(folder, "ci", *_OPTIONS)
    return package


def _npm(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "PUPPETEER_SKIP_DOWNLOAD": "1"}
    try:
        subprocess.run(["npm", *arguments], cwd=folder, env=environment, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"npm {' '.join(arguments)} failed: {error}") from error
