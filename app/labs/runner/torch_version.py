"""The versions of PyTorch with which labs run."""

import re

OLDEST = "2.8"
_RELEASE = re.compile(r"(?<!\d)(\d++)\.(\d+)")


def is_older(version: str, least: str) -> bool:
    """Whether *version* is of a release before *least*.

    >>> is_older("2.11.0a0+git1", "2.8"), is_older("2.7.1+cu128", "2.8")
    (False, True)
    """
    return _release_of(version) < _release_of(least)


def upgrade_of(least: str) -> str:
    """How to get a version that is new enough."""
    return f"pip install --upgrade 'torch>={least}', or a newer image of the container"


def require_torch(version: str, least: str = OLDEST, what: str = "a lab") -> None:
    """Refuse a *version* of PyTorch with which *what* is known to fail."""
    if is_older(version, least):
        raise RuntimeError(f"{what} needs torch {least} or newer, and this is {version}: {upgrade_of(least)}")


def _release_of(version: str) -> tuple[int, ...]:
    found = _RELEASE.match(version)
    return tuple(map(int, found.groups())) if found else ()
