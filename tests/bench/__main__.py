"""Measures everything and prints a table: python -m tests.bench [NAME ...]"""

import sys
from importlib import import_module

from tests.bench.figures import Figure

BENCHES = (
    "start",
    "formulas",
    "schedules",
    "search",
    "content",
    "adequacy",
    "explorers",
    "page",
    "sandbox",
    "siege",
    "batch",
    "grade",
    "predict",
    "traces",
    "measured",
    "http",
    "labs",
    "rivals",
)


def main(names: list[str]) -> int:
    """Print a row a figure; 1 if one misses its goal."""
    missed = 0
    for name in names or BENCHES:
        for figure in import_module(f"tests.bench.bench_{name}").measure():
            sys.stdout.write(row(figure))
            sys.stdout.flush()
            missed += not figure.met
    return 1 if missed else 0


def row(figure: Figure) -> str:
    """A figure as a line of the table."""
    sign = "≤" if figure.better == "lower" else "≥"
    goal = f"{sign} {figure.goal:g} {figure.unit}" if figure.goal is not None else ""
    mark = "ok" if figure.met else "MISSED"
    value = f"{figure.value:,.4g}" if abs(figure.value) < 1000 else f"{figure.value:,.0f}"
    return f"{figure.name:<48} {value:>10} {figure.unit:<5} {goal:<14} {mark}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
