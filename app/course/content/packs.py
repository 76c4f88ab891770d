"""The sources of exercises: the built-in ones, installed course packs, and configured folders."""

from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from app.core.errors import ContentError, InputError, Problem
from app.core.folders import ROOT
from app.course.content.pack_file import CoursePack, chapters_in, read_pack
from app.server.config import Settings

GROUP = "wallclock.exercises"
BUILT_IN = ROOT / "exercises"


def exercise_folders(settings: Settings) -> list[Path]:
    """Every folder that has one folder per chapter.

    A course pack is a package with an entry point in the group `wallclock.exercises`; its chapters
    are in its folder `exercises`, or next to its `__init__.py`.

    Raises:
        InputError: an entry point names a pack that cannot be found.
    """
    return [BUILT_IN, *(chapters_in(folder) for folder in pack_folders(settings))]


def pack_folders(settings: Settings) -> list[Path]:
    """The folders of the installed course packs, and those of the settings.

    Raises:
        InputError: an entry point names a pack that cannot be found.
    """
    return [*_installed(), *settings.exercises]


def read_packs(folders: list[Path]) -> list[CoursePack]:
    """The packs in *folders*.

    Raises:
        ContentError: with every problem of every `pack.yaml`, and of several with one name.
    """
    problems: list[Problem] = []
    found: dict[str, CoursePack] = {}
    for folder in folders:
        try:
            pack = read_pack(folder)
        except ContentError as error:
            problems += error.problems
            continue
        name = pack.file.name if pack.file else str(folder)
        if name in found:
            says = f"name: a pack called {name!r} is in {found[name].folder} as well"
            problems.append(pack.problem(("name",), says, "use one of them, or rename one"))
        found[name] = pack
    if problems:
        raise ContentError(problems)
    return list(found.values())


def _installed() -> list[Path]:
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
        found.append(Path(spec.submodule_search_locations[0]))
    return found
