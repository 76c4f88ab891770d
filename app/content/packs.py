"""The sources of exercises: the built-in ones, installed course packs, and configured folders."""

from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from app.config import ROOT, Settings
from app.errors import InputError

GROUP = "wallclock.exercises"


def exercise_folders(settings: Settings) -> list[Path]:
    """Every folder that has one folder per chapter.

    A course pack is a package with an entry point in the group `wallclock.exercises`; its chapters
    are in its folder `exercises`, or next to its `__init__.py`.

    Raises:
        InputError: an entry point names a pack that cannot be found.
    """
    return [ROOT / "exercises", *_packs(), *settings.exercises]


def _packs() -> list[Path]:
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            spec = find_spec(entry.module)
        except ImportError as error:
            raise InputError(f"the course pack {entry.name!r} cannot be found: {error}") from error
        if spec is None or not spec.submodule_search_locations:
            raise InputError(
                f"the course pack {entry.name!r} names {entry.module!r}, which is not a package; "
                "reinstall it, or uninstall it"
            )
        folder = Path(spec.submodule_search_locations[0])
        inner = folder / "exercises"
        found.append(inner if inner.is_dir() else folder)
    return found
