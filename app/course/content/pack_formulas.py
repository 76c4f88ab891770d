"""The formulas of a course pack: Python of its author, loaded only if the operator agrees.

What is hashed for the consent is what is then run: the files are read once.
"""

import hashlib
import re
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType

from app.core.errors import ContentError, Problem
from app.core.formulas import MODULES
from app.core.formulas.signature import formula_of
from app.course.content.pack_file import CoursePack
from app.server.config import Settings

PACKAGE = "wallclock_packs"  # whose modules have the formulas
_LARGEST = 200_000  # bytes of a file
_MOST = 50  # files
_DIGITS = 32  # of the digest that operators copy
_OURS = {module.__name__.rpartition(".")[2] for module in MODULES} | {"presets", "step"}
_FORMER = re.compile(rb"^([ \t]*(?:from|import)[ \t]+app)\.(formulas|units)\b", re.MULTILINE)
_CALM = "its formulas are Python, and Python may do anything"
# What the top level of a module may raise.
_TROUBLE = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError,
    RuntimeError, SyntaxError, TypeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FormulaSource:
    """A file of formulas: its path, and its bytes as they were hashed."""

    path: Path
    source: bytes


def sources_of(pack: CoursePack) -> Sequence[FormulaSource]:
    """The files of the formulas of *pack*; none if it brings no formula.

    Raises:
        ContentError: a file cannot be read, there are too many, or the pack has no name.
    """
    paths = sorted(pack.formulas.glob("*.py"))
    if not paths:
        return ()
    if pack.chapters == pack.folder:
        says = "a pack with formulas has its chapters in a folder `exercises`"
        raise ContentError([pack.problem((), says, "move the chapters there")])
    if pack.file is None:
        cure = "write one with `name`, which is also the name of its formulas"
        raise ContentError([pack.problem((), "a pack with formulas needs a pack.yaml", cure)])
    if namespace(pack) in _OURS:
        says = f"name: Wallclock's own formulas are called {namespace(pack)!r}"
        raise ContentError([pack.problem(("name",), says, "give the pack another name")])
    if len(paths) > _MOST:
        says = f"has {len(paths)} files, and at most {_MOST} are read"
        raise ContentError([Problem(pack.formulas, 1, says, "put several formulas into one file")])
    return [FormulaSource(path, _source(path)) for path in paths]


def _source(path: Path) -> bytes:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            says = f"is not a regular file of at most {_LARGEST:,} bytes"
            raise ContentError([Problem(path, 1, says, "split it, or remove it")])
        return path.read_bytes()
    except OSError as error:
        says = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise ContentError([Problem(path, 1, says, "check its permissions")]) from error


def namespace(pack: CoursePack) -> str:
    """What its formulas are called before the dot: the name of the pack, with underscores."""
    return pack.file.name.replace("-", "_") if pack.file else ""


def files_digest(files: Sequence[FormulaSource]) -> str:
    """The digest of *files* that an operator agrees to."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.path.name} {len(file.source)}\n".encode())
        digest.update(file.source)
    return digest.hexdigest()[:_DIGITS]


def is_agreed(settings: Settings, pack: CoursePack, files: Sequence[FormulaSource]) -> bool:
    """Whether the operator has agreed to run *files*: by their digest, or to the whole folder."""
    name = pack.file.name if pack.file else ""
    folders = {Path(one).resolve() for one in settings.pack_code if "@" not in one}
    return f"{name}@{files_digest(files)}" in settings.pack_code or pack.folder.resolve() in folders


def refused_formulas(pack: CoursePack, files: Sequence[FormulaSource]) -> Problem:
    """The problem of formulas that nobody has agreed to."""
    name = pack.file.name if pack.file else ""
    return Problem(
        pack.formulas,
        1,
        f"{_CALM}: they are loaded only if you agree",
        f"read them, then set WALLCLOCK_PACK_CODE={name}@{files_digest(files)}",
    )


def loaded(pack: CoursePack, files: Sequence[FormulaSource]) -> Mapping[str, FunctionType]:
    """The formulas in *files*, by name; this runs them.

    Raises:
        ContentError: with every problem, each with its line.
    """
    problems: list[Problem] = []
    found: dict[str, FunctionType] = {}
    for file in files:
        for name, function in _run(pack, file, problems).items():
            whole = f"{namespace(pack)}.{name}"
            if whole in found:
                says = f"{name} is in another file as well"
                problems.append(_problem(file, function, says, "rename one of them"))
            found[whole] = function
            try:
                formula_of(whole, function)
            except (*_TROUBLE, KeyError) as error:
                cure = "annotate arguments and result with units: Bytes, Seconds, Count, Ratio, ..."
                problems.append(_problem(file, function, f"{name}: {error}", cure))
    if problems:
        raise ContentError(problems)
    return found


def in_this_version(source: bytes) -> bytes:
    """The *source* of a pack, whose imports are named as they are now: `app.units` was where `app.core.units` is."""
    return _FORMER.sub(rb"\1.core.\2", source)


def _run(pack: CoursePack, file: FormulaSource, problems: list[Problem]) -> Mapping[str, FunctionType]:
    """The public functions that *file* defines and that return something."""
    module = ModuleType(f"{PACKAGE}.{namespace(pack)}.{file.path.stem}")
    module.__file__ = str(file.path)
    try:
        code = compile(in_this_version(file.source), str(file.path), "exec", dont_inherit=True)
        exec(code, vars(module))
    except _TROUBLE as error:
        line = getattr(error, "lineno", None) or _line_in(file.path, error)
        says = f"cannot be loaded: {type(error).__name__}: {error}"
        problems.append(Problem(file.path, line, says, "run it with Python to see more"))
        return {}
    sys.modules[module.__name__] = module
    return {
        name: function
        for name, function in vars(module).items()
        if isinstance(function, FunctionType)
        and function.__module__ == module.__name__
        and function.__annotations__.get("return") is not None
        and not name.startswith("_")
    }


def _line_in(path: Path, error: BaseException) -> int:
    """The last line of *path* that *error* passed through."""
    line, step = 1, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == str(path):
            line = step.tb_lineno
        step = step.tb_next
    return line


def _problem(file: FormulaSource, function: FunctionType, says: str, cure: str) -> Problem:
    return Problem(file.path, function.__code__.co_firstlineno, says, cure)
