"""The proof of a pack's own formulas: docstring, units, source, and two values from outside."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.core.errors import ContentError, Problem, nearest
from app.core.expressions import ExpressionError, Quantity, parse_expression
from app.core.expressions import evaluate as work_out
from app.core.formulas import Argument, Formula, FormulaResult, formula_value
from app.core.units import parse_or_base
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.pack_file import CoursePack
from app.course.content.proof_file import FormulaProof, ProofFile
from app.course.kinds.schema_errors import faults
from app.site.web.reference.docstrings import documented, equation_lines

PROOFS = "proofs.yaml"
_NEEDED = 2  # proofs of a formula
_SHOWN = 1e-12  # between the formula shown and the one computed
_WRITE = "write two under its name in formulas/proofs.yaml: given, equals, because"


def prove_formulas(pack: CoursePack, formulas: Mapping[str, Formula]) -> Iterator[Problem]:
    """Every problem of the *formulas* of *pack*, which must be loaded."""
    path = pack.formulas / PROOFS
    proofs, document = _proofs(path) if path.exists() else ({}, None)
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


def _proofs(path: Path) -> tuple[Mapping[str, Sequence[FormulaProof]], YamlDocument]:
    document = read_document(path)
    try:
        return ProofFile.model_validate(document.values).proofs, document
    except ValidationError as error:
        found = faults(error, document.values, ProofFile)
        raise ContentError([document.problem(*fault) for fault in found]) from error


def _troubles(formula: Formula, proofs: Sequence[FormulaProof]) -> Iterator[tuple[str, str]]:
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
    doc = documented(formula)
    if not doc.summary.endswith("."):
        yield "has no docstring that says what comes back", "write a sentence on its first line"
    if not equation_lines(formula):
        cure = "write it on a line of its own, indented by four spaces: T = 2 * size / bandwidth"
        yield "has no line of mathematics", cure
    if missing := [name for name in formula.inputs if name not in doc.arguments]:
        yield f"does not describe {', '.join(missing)}", "add a line for each below `Args:`"
    if formula.inputs and not doc.raises:
        yield "does not say what it refuses", "add `Raises:` with a line `ValueError: ...`"
    if not doc.source:
        yield ("has no source", "add `Source:` with a paper, a manual or a derivation")


def _trouble_of_proof(formula: Formula, proof: FormulaProof) -> str:
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


def _arguments(proof: FormulaProof) -> Mapping[str, Argument]:
    return {name: value if isinstance(value, str) else str(value) for name, value in proof.given.items()}


def _differs(formula: Formula, proof: FormulaProof) -> str:
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


def _takes_anything(formula: Formula, proof: FormulaProof) -> str:
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
