"""A run that goes wrong on purpose."""

from app.labs.spec import Lab, LabJob, Parameter, Value


def failing_job(what: str, rank: int, ranks: int, seconds: float) -> LabJob:
    """A run in which *rank* does *what*: not a lab, though it runs as one."""
    whole = Parameter(says="a number", start=0, whole=True)
    lab = Lab(
        name="check",
        title="Check",
        links="real",
        summary="Ranks sum, and one of them may go wrong.",
        question="Which one?",
        ranks=(1, 1024, 2),
        seconds=seconds,
        parameters={"what": Parameter(says="what", start=what), "bad": whole, "seconds": whole},
        measures={},
        asks="",
        explains="",
    )
    values: dict[str, Value] = {"what": what, "bad": float(rank), "seconds": seconds}
    given = {"ranks": str(ranks), "what": what, "bad": str(rank), "seconds": f"{seconds:g}"}
    return LabJob(lab, ranks, values, given)
