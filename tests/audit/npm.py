"""Tools from npm, installed once into the user's cache."""

import os
import subprocess
from pathlib import Path

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "wallclock-audit"


def installed(name: str, version: str) -> Path:
    """The folder of the package *name*, of the major *version*; Node 20 or newer is needed.

    Raises:
        RuntimeError: npm is not there, or could not install it.
    """
    folder = _CACHE / f"{name}-{version}"
    package = folder / "node_modules" / name
    if not package.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        environment = {**os.environ, "PUPPETEER_SKIP_DOWNLOAD": "1"}
        try:
            subprocess.run(
                [*command, f"{name}@{version}"], cwd=folder, env=environment, check=True,
                capture_output=True,
            )  # fmt: skip
        except (OSError, subprocess.CalledProcessError) as error:
            raise RuntimeError(f"npm could not install {name}@{version}: {error}") from error
    return package
