"""Step 12: jobs of Slurm in the shapes that sites have."""

from collections.abc import Iterator

from app.labs.check.collectives import LAB
from app.labs.check.findings import CheckFinding, failed_finding, passed, unknown
from app.labs.check.world import World

_SIZES = "4KiB,1MiB"
_HOW = "Set WALLCLOCK_LAB_LAUNCHER=slurm to check it."


def jobs(world: World) -> Iterator[CheckFinding]:
    """Whether jobs run shared, exclusive and with a GPU per task, and can be canceled."""
    if not world.is_slurm:
        yield unknown("Slurm", "runs do not go through Slurm here", _HOW)
        return
    gpus = world.devices().usable
    backend = "nccl" if gpus > 1 else "gloo"
    shapes = {"2 ranks": (2, ""), "2 ranks, a GPU per task": (2, "--gpus-per-task=1")}
    whole = max(2, gpus // world.nodes)
    shapes[f"{whole} ranks on an exclusive node"] = (whole, "--exclusive")
    if world.nodes > 1:
        shapes[f"{2 * whole} ranks on two nodes"] = (2 * whole, "")
    for name, (ranks, option) in shapes.items():
        if not gpus and "GPU" in option.upper():
            yield unknown(name, "WALLCLOCK_SLURM_GPUS is 0")
        else:
            yield _job(world, name, ranks, backend, option)
    left = world.canceled()
    if left:
        yield failed_finding("a canceled job", "; ".join(left), "nothing is left of it", "See squeue --me.")
    else:
        yield passed("a canceled job", "nothing is left of it")


def _job(world: World, name: str, ranks: int, backend: str, option: str) -> CheckFinding:
    ran = world.run(LAB, {"ranks": str(ranks), "sizes": _SIZES}, backend, site=option)
    report = ran.report
    if ran.is_done:
        return passed(name, f"the sums of {report.world} ranks are right ({ran.seconds:.0f} s)")
    return failed_finding(name, report.cause or report.state.word, "the sums are right", "")
