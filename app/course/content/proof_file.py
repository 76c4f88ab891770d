"""The `proofs.yaml` of a course pack: what its own formulas are known to give."""

from pydantic import Field

from app.course.kinds.strict import Strict

_EXACT = 1e-9  # relative


class FormulaProof(Strict):
    """A value of a formula that is known from elsewhere."""

    given: dict[str, str | float] = Field(description="arguments, such as size: 2 GB")
    equals: str | float = Field(description="the value, such as 70 ms")
    because: str = Field(min_length=10, description="where it is from: a table, a simulation, a limit, a symmetry")
    within: float = Field(default=_EXACT, gt=0, le=0.1, description="relative, as 0.005")


class ProofFile(Strict):
    """The content of `formulas/proofs.yaml`."""

    proofs: dict[str, list[FormulaProof]]
