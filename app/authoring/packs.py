"""The check of a whole course pack: what it says of itself, its formulas, and every exercise."""

import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.authoring.lint import LintReport, lint
from app.core.errors import ContentError, InputError, Problem, nearest
from app.core.expressions import ExpressionError, Quantity, parse_expression
from app.core.expressions import evaluate as work_out
from app.core.formulas import FORMULAS, Argument, Formula, FormulaResult, formula_value
from app.core.units import parse_or_base
from app.core.yaml_file import read_document
from app.course.content import course
from app.course.content.catalog import Catalog
from app.course.kinds.schema_errors import refuse_faults
from app.course.sandbox.runner import Runner
from app.site.web.reference.formulas import document_formula, equation_lines

PROOFS = "proofs.yaml"
_NEEDED = 2  # proofs of a formula
_SHOWN = 1e-12  # between the formula shown and the one computed
_WRITE = "write two under its name in formulas/proofs.yaml: given, equals, because"


def prove_formulas(pack: course.CoursePack, formulas: Mapping[str, Formula]) -> Iterator[Problem]:
    """Every problem of the *formulas* of *pack*, which must be loaded."""
    path = pack.formulas / PROOFS
    proofs: Mapping[str, Sequence[course.FormulaProof]] = {}
    document = read_document(path) if path.exists() else None
    if document:
        with refuse_faults(document, document.values, course.ProofFile):
            proofs = course.ProofFile.model_validate(document.values).proofs
    short = {name.partition(".")[2]: formula for name, formula in formulas.items()}
    for name in proofs:
        if document and name not in short:
            says = f"no formula here is called {name!r}{nearest(name, short)}"
            yield document.problem(("proofs", name), says, "write its name without the pack's")
    for name, formula in short.items():
        place = formula.function.__code__
        for says, cure in _troubles(formula, proofs.get(name, [])):
            yield Problem(Path(place.co_filename), place.co_firstlineno, f"{name} {says}", cure)
        for number, proof in enumerate(proofs.get(name, [])):
            if document and (says := _trouble_of_proof(formula, proof)):
                cure = "correct the formula, or the value if its source says otherwise"
                yield document.problem(("proofs", name, number), says, cure)


def _troubles(formula: Formula, proofs: Sequence[course.FormulaProof]) -> Iterator[tuple[str, str]]:
    """What is wrong with *formula*, and the cure."""
    yield from _troubles_of_docstring(formula)
    apart = {tuple(sorted((key, str(value)) for key, value in one.given.items())) for one in proofs}
    if len(apart) < _NEEDED:
        yield f"has {len(apart)} of {_NEEDED} proofs with different values", _WRITE
    for proof in proofs:
        if says := _differs(formula, proof):
            yield says, "make the line of mathematics and the code agree"
            break
    if proofs and (name := _takes_anything(formula, proofs[0])):
        cure = "check it first: from app.core.formulas.checks import positive; whole() and share() too"
        yield f"computes something with {name} that is not a number", cure


def _troubles_of_docstring(formula: Formula) -> Iterator[tuple[str, str]]:
    doc = document_formula(formula)
    if not doc.summary.endswith("."):
        yield "has no docstring that says what comes back", "write a sentence on its first line"
    if not equation_lines(formula):
        cure = "write it on a line of its own, indented by four spaces: T = 2 * size / bandwidth"
        yield "has no line of mathematics", cure
    if missing := [name for name in formula.inputs if name not in doc.arguments]:
        yield f"does not describe {', '.join(missing)}", "add a line for each below `Args:`"
    if not doc.source:
        yield ("has no source", "add `Source:` with a paper, a manual or a derivation")


def _trouble_of_proof(formula: Formula, proof: course.FormulaProof) -> str:
    try:
        found = formula_value(formula, _arguments(proof))
        equals = proof.equals
        right = parse_or_base(equals, formula.result) if isinstance(equals, str) else equals
    except ValueError as error:
        return str(error)
    if isinstance(found, tuple | str):
        return f"{formula.name} returns several values, which a proof cannot compare"
    if not math.isclose(found, right, rel_tol=proof.within, abs_tol=0):
        return f"is {formula.text(found)}, and {proof.because!r} says {equals}"
    return ""


def _arguments(proof: course.FormulaProof) -> Mapping[str, Argument]:
    return {name: value if isinstance(value, str) else str(value) for name, value in proof.given.items()}


def _differs(formula: Formula, proof: course.FormulaProof) -> str:
    """How the formula shown differs from the one computed, where it can be worked out."""
    try:
        given: dict[str, Any] = {name: one.default for name, one in formula.inputs.items() if not one.required}
        given |= formula.read(_arguments(proof))
        computed: FormulaResult = formula_value(formula, _arguments(proof))
        names = {
            name: Quantity(float(given[name]) * one.unit.size, one.unit.dimension)
            for name, one in formula.inputs.items()
            if one.unit and not one.many
        }
        shown = None
        for line in equation_lines(formula):
            left, _, right = line.partition(" = ")
            shown = names[left] = work_out(parse_expression(right, [*names]), names)
    except (ExpressionError, ValueError):
        return ""  # it leaves something to the prose, or a proof reports it
    if shown is None or isinstance(computed, tuple | str):
        return ""
    if math.isclose(shown.value, computed, rel_tol=_SHOWN):
        return ""
    return f"shows {shown.value:.6g} and computes {computed:.6g} for {dict(proof.given)}"


def _takes_anything(formula: Formula, proof: course.FormulaProof) -> str:
    """The first argument of which the formula does not refuse nan; empty if there is none."""
    try:
        given = formula.read(_arguments(proof))
    except ValueError:
        return ""
    for name, one in formula.inputs.items():
        if one.unit is None or one.many:
            continue
        try:
            formula.function(**{**given, name: math.nan})
        except ValueError:
            continue
        return name
    return ""


_READ_FIRST = "its exercises are checked with --load-formulas, which runs the pack's Python"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPack:
    """A pack and the result of its check; *digest* is that of its formulas, if it has any."""

    pack: course.CoursePack
    linted: LintReport
    digest: str
    formulas: int


async def check_pack(folder: Path, runner: Runner, *, loads: bool) -> CheckedPack:
    """The pack in *folder*, checked; its formulas are run only if it *loads* them.

    Raises:
        ContentError: the pack itself cannot be read.
        InputError: there is no pack.
        UnavailableError: the sandbox cannot run the code of an exercise.
    """
    if not os.path.lexists(folder / course.PACK_FILE):
        inside = sorted(path.parent for path in folder.glob(f"*/{course.PACK_FILE}"))
        offer = f"; did you mean {inside[0]}?" if inside else "; `wallclock new pack` writes one"
        raise InputError(f"{folder} has no {course.PACK_FILE}{offer}")
    pack = course.read_pack(folder)
    files = course.sources_of(pack)
    problems = [*problems_of_project(pack)]
    formulas = 0
    if files and loads:
        FORMULAS.add(functions := course.load_pack_formulas(pack, files))
        formulas = len(functions)
        problems += prove_formulas(pack, {name: FORMULAS[name] for name in functions})
    try:
        course.arrange_catalog(Catalog.read([course.BUILT_IN, pack.chapters]), [pack])
    except ContentError as error:
        problems += error.problems
    linted = LintReport(0, (), ())
    if loads or not files:
        linted = await lint([folder], runner, [course.BUILT_IN])
    else:
        problems.append(Problem(pack.formulas, 1, "the formulas are not loaded", _READ_FIRST))
    found = tuple(dict.fromkeys([*problems, *linted.problems]))
    return CheckedPack(
        pack=pack,
        linted=LintReport(linted.files, found, linted.notes),
        digest=course.files_digest(files) if files else "",
        formulas=formulas,
    )


def problems_of_project(pack: course.CoursePack) -> Iterator[Problem]:
    """Differences between the pack and the `pyproject.toml` of its package, if it has one."""
    path = pack.folder.absolute().parent / "pyproject.toml"
    if pack.file is None or not path.is_file():
        return
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError) as error:
        yield Problem(path, 1, f"cannot be read: {error}", "correct it")
        return
    points = project.get("entry-points", {}).get(course.GROUP, {})
    if pack.folder.absolute().name not in points.values():
        cure = f'[project.entry-points."{course.GROUP}"] {pack.file.name} = "{pack.folder.name}"'
        yield Problem(path, 1, "does not name the pack as an entry point", cure)
    version = project.get("version", pack.file.version)
    if version != pack.file.version:
        says = f"version is {version}, and that of {course.PACK_FILE} {pack.file.version}"
        yield Problem(path, 1, says, "write the same version into both")
