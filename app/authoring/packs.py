"""The check of a whole course pack: what it says of itself, its formulas, and every exercise."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from app.authoring.lint import Linted, Note, lint
from app.authoring.pack_formulas import prove_formulas
from app.core.errors import ContentError, InputError, Problem
from app.core.formulas import FORMULAS
from app.core.yaml_file import read_document
from app.course.content.catalog import Catalog
from app.course.content.course import arranged
from app.course.content.pack_file import PACK_FILE, CoursePack, read_pack
from app.course.content.pack_formulas import files_digest, loaded, sources_of
from app.course.content.packs import BUILT_IN, GROUP
from app.course.content.topic_file import TOPIC_FILE
from app.course.content.translations import is_translation
from app.course.sandbox.runner import Runner

_READ_FIRST = "its exercises are checked with --load-formulas, which runs the pack's Python"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPack:
    """A pack and the result of its check; *digest* is that of its formulas, if it has any."""

    pack: CoursePack
    linted: Linted
    digest: str
    formulas: int


async def check_pack(folder: Path, runner: Runner, *, loads: bool, against: Path | None = None) -> CheckedPack:
    """The pack in *folder*, checked; its formulas are run only if it *loads* them.

    Exercises are compared with those of the earlier version in *against*.

    Raises:
        ContentError: the pack itself cannot be read.
        InputError: there is no pack.
        UnavailableError: the sandbox cannot run the code of an exercise.
    """
    pack = _pack_in(folder)
    files = sources_of(pack)
    problems = [*problems_of_project(pack)]
    notes: list[Note] = []
    formulas = 0
    if files and loads:
        FORMULAS.add(functions := loaded(pack, files))
        formulas = len(functions)
        problems += prove_formulas(pack, {name: FORMULAS[name] for name in functions})
    try:
        arranged(Catalog.read([BUILT_IN, pack.chapters]), [pack])
        if against:
            problems += problems_of_version(pack, against, notes)
    except ContentError as error:
        problems += error.problems
    linted = Linted(0, (), ())
    if loads or not files:
        linted = await lint([folder], runner, [BUILT_IN])
    else:
        problems.append(Problem(pack.formulas, 1, "the formulas are not loaded", _READ_FIRST))
    found = tuple(dict.fromkeys([*problems, *linted.problems]))
    return CheckedPack(
        pack=pack,
        linted=Linted(linted.files, found, (*linted.notes, *notes)),
        digest=files_digest(files) if files else "",
        formulas=formulas,
    )


def _pack_in(folder: Path) -> CoursePack:
    if not os.path.lexists(folder / PACK_FILE):
        inside = sorted(path.parent for path in folder.glob(f"*/{PACK_FILE}"))
        offer = f"; did you mean {inside[0]}?" if inside else "; `wallclock new pack` writes one"
        raise InputError(f"{folder} has no {PACK_FILE}{offer}")
    return read_pack(folder)


def problems_of_project(pack: CoursePack) -> Iterator[Problem]:
    """Differences between the pack and the `pyproject.toml` of its package, if it has one."""
    path = pack.folder.absolute().parent / "pyproject.toml"
    if pack.file is None or not path.is_file():
        return
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError) as error:
        yield Problem(path, 1, f"cannot be read: {error}", "correct it")
        return
    points = project.get("entry-points", {}).get(GROUP, {})
    if pack.folder.absolute().name not in points.values():
        cure = f'[project.entry-points."{GROUP}"] {pack.file.name} = "{pack.folder.name}"'
        yield Problem(path, 1, "does not name the pack as an entry point", cure)
    version = project.get("version", pack.file.version)
    if version != pack.file.version:
        says = f"version is {version}, and that of {PACK_FILE} {pack.file.version}"
        yield Problem(path, 1, says, "write the same version into both")


def problems_of_version(pack: CoursePack, against: Path, notes: list[Note]) -> Iterator[Problem]:
    """What changed since the version in *against*, as notes; a problem if the version did not."""
    earlier = _pack_in(against)
    if pack.file is None or earlier.file is None:
        return
    now, then = _digests(pack.chapters), _digests(earlier.chapters)
    changed = sorted(name for name in now if name in then and now[name] != then[name])
    removed = sorted(then.keys() - now.keys())
    for names, what in (
        (sorted(now.keys() - then.keys()), "is new"),
        (changed, "changed: `wallclock regrade --dry-run` shows whose points that would change"),
    ):
        notes += [Note(pack.chapters / f"{name}.yaml", what) for name in names]
    for name in removed:
        says = "is gone: what learners answered stays stored, and assignments name it in vain"
        notes.append(Note(pack.chapters / f"{name}.yaml", says, "warning"))
    raised = Version(pack.file.version) > Version(earlier.file.version)
    if (changed or removed) and not raised:
        says = (
            f"version: still {pack.file.version}, although {len(changed)} of the exercises of "
            f"{earlier.file.version} changed and {len(removed)} are gone"
        )
        yield pack.problem(("version",), says, "raise it, so that teachers can name what they used")


def _digests(chapters: Path) -> Mapping[str, str]:
    """The digest of each exercise in the folder *chapters*, by its id."""
    files = (file for file in chapters.glob("*/*.yaml") if not is_translation(file))
    files = (file for file in files if file.name != TOPIC_FILE)
    return {f"{file.parent.name}/{file.stem}": read_document(file).digest for file in files}
