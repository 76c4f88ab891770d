"""How long a plain call of a formula takes."""

import timeit
from collections.abc import Iterator
from statistics import median

from app.core.formulas import FORMULAS
from tests.bench.figures import Figure
from tests.formulas.samples import legal


def measure() -> Iterator[Figure]:
    """The median over all formulas."""
    times = []
    for formula in FORMULAS.values():
        arguments = legal(formula)
        times.append(min(timeit.repeat(lambda: formula.function(**arguments), number=2000)) / 2000)  # noqa: B023
    yield Figure("call of a formula, median of all", 1e6 * median(times), "µs", 5, "lower")
