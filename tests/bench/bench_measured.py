"""Reading what others printed: a long paste, a long log, and how well three lines fit."""

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time, time

from app.core.measurements.file_reader import read_files
from app.core.measurements.pieces import median_error
from app.core.measurements.published import published_tests, text_of
from app.core.measurements.reports import CollectiveTest
from app.site.web.measured.views import view_of_test
from tests.bench.figures import Figure
from tests.measurements.printing import rows

AGAIN = 5
PASTE = 200  # rows
STEPS = 20_000


def measure() -> Iterator[Figure]:
    """Processor time of reading and drawing; the fit over the published samples."""
    with TemporaryDirectory() as folder:
        paste, log = Path(folder, "paste"), Path(folder, "log")
        sizes = [(n + 1) << 20 for n in range(PASTE)]
        paste.write_text("\n".join(rows("all_reduce", 16, middle="  sum  -1 ", sizes=sizes)))
        line = text_of("megatron-mixtral-16-h100").splitlines()[3]
        old = "iteration       43"
        log.write_text("\n".join(line.replace(old, f"iteration {n}") for n in range(STEPS)))
        drawn = quickest(lambda: _drawn(paste))
        yield Figure("nccl-tests, 200 rows: read and drawn", 1000 * drawn, "ms", 50)
        read = quickest(lambda: read_files([log]))
        yield Figure("training log, 20,000 steps", read, "s", 10)
    misses = [_miss(one.report) for one in published_tests().values() if _is_long(one.report)]
    yield Figure("median error of at most three lines", 100 * statistics.median(misses), "%", 3)
    begun = time()
    published_tests.cache_clear()
    published_tests()
    yield Figure("the 29 published tests, read", 1000 * (time() - begun), "ms")


def quickest(work: Callable[[], object]) -> float:
    """Seconds of the processor, of the quickest time of several."""
    found = []
    for _ in range(AGAIN):
        begun = process_time()
        work()
        found.append(process_time() - begun)
    return min(found)


def _drawn(path: Path) -> None:
    (test,) = read_files([path])
    if isinstance(test, CollectiveTest):
        view_of_test(test, None)


def _is_long(report: object) -> bool:
    return isinstance(report, CollectiveTest) and len(report.rows) >= 10


def _miss(report: object) -> float:
    if not isinstance(report, CollectiveTest):
        return 0.0
    return median_error([(row.size, row.time) for row in report.rows], report.pieces)
