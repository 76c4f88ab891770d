"""Where exercises come from: ours, installed course packs, and folders of the settings."""

from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from app.config import ROOT, Settings
from app.errors import InputError

GROUP = "wallclock.exercises"


def exercise_folders(settings: Settings) -> list[Path]:
    """Every folder that holds a folder a chapter.

    A course pack is a package that names itself in the entry points `wallclock.exercises`; its
    chapters are in its folder `exercises`, or beside its `__init__.py`.

    Raises:
        InputError: a pack is named and cannot be found.
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
                f"the course pack {entry.name!r} names {entry.module!r}, which is no package; "
                "install it again, or uninstall it"
            )
        folder = Path(spec.submodule_search_locations[0])
        inner = folder / "exercises"
        found.append(inner if inner.is_dir() else folder)
    return found
