"""Step 13: the standard runs, recorded in a file that can be sent to a board."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from app.core.errors import InputError, UnavailableError
from app.labs.check.findings import CheckFinding, failed_finding, odd, passed, unknown
from app.labs.check.world import World
from app.labs.results.disturbance import WHAT_TO_DO
from app.labs.results.report import Report
from app.labs.results.upload import read_sent
from app.labs.runner.job import write_whole

# With the parameters that labs start with, so that runs of different machines can be compared.
STANDARD: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("all-reduce", {}),
    ("point-to-point", {}),
    ("two-streams", {}),
    ("matrix-product", {}),
    ("memory-copy", {}),
    ("attention", {}),
)
_QUICK: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("all-reduce", {"sizes": "4KiB,64KiB,1MiB"}),
    ("memory-copy", {"sizes": "1MiB,16MiB"}),
)


def record_standard_runs(world: World) -> Iterator[CheckFinding]:
    """Run the standard runs, write them to the file, and read it as a board would."""
    if world.record is None:
        names = ", ".join(name for name, _ in STANDARD)
        cure = f"--record FILE runs {names}, and writes a file for a board."
        yield unknown("runs for a board", "nothing was recorded", cure)
        return
    reports = []
    for name, given in _QUICK if world.quick else STANDARD:
        try:
            ran = world.run(name, given)
        except InputError as error:
            yield unknown(name, str(error))
            continue
        if not ran.is_done:
            yield failed_finding(name, ran.report.cause, "it runs, and its data is right", "")
        elif ran.report.doubts:
            yield odd(name, " ".join(ran.report.doubts), "nothing disturbs it", WHAT_TO_DO)
        else:
            reports.append(ran.report)
    yield _written(world.record, reports)
    for report in reports:
        yield _as_a_board_reads_it(report)


def _written(path: Path, reports: list[Report]) -> CheckFinding:
    try:
        write_whole(path, "".join(f"{report.as_json()}\n" for report in reports).encode())
    except OSError as error:
        return failed_finding("file", f"{path}: {error.strerror}", "it can be written", "")
    return passed("file", f"{len(reports)} runs in {path}")


def _as_a_board_reads_it(sent: Report) -> CheckFinding:
    """Whether a board takes the run *sent*, and shows what it needs to be believed."""
    name = f"{sent.lab} on a board"
    try:
        read = read_sent(sent.as_json())
    except (InputError, UnavailableError) as error:
        return failed_finding(name, str(error), "a board takes it", "Report this, with the file.")
    if read.backend != "nccl":
        return passed(name, f"{read.size} over {read.backend}")
    machine, versions = read.machine, read.versions
    shown = {
        "GPU": bool(machine.gpus),
        "driver": bool(machine.driver),
        "NCCL": "nccl" in versions or "rccl" in versions,
        "times without launch": any("with launch" in one.name for one in read.measures),
    }
    if missing := [what for what, is_there in shown.items() if not is_there]:
        return odd(name, f"without {', '.join(missing)}", f"with {', '.join(shown)}", "Report this.")
    return passed(name, f"{read.size}, {machine.gpus[0]}, driver {machine.driver}")
