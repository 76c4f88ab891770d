"""To add one thing touches few files: those that name one that is there are counted."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from app.config import ROOT
from app.formulas.signature import formula_of
from app.units import Bytes, Count, Seconds
from tests.formulas.samples import illegal, legal

ROOMS = ("app", "templates", "static", "tests")
CODE = (".py", ".html", ".js", ".css")
HERE = Path(__file__)
CONTENT = ("content", "docs", "vendor", "recorded", "tables")  # what speaks of them


def naming(pattern: str) -> list[str]:
    """The files of code that *pattern* is found in."""
    return sorted(_naming(re.compile(pattern)))


def _naming(pattern: re.Pattern[str]) -> Iterator[str]:
    for room in ROOMS:
        for path in (ROOT / room).rglob("*"):
            name = path.relative_to(ROOT)
            if path.suffix not in CODE or path == HERE or set(CONTENT) & set(name.parts):
                continue
            if pattern.search(path.read_text(encoding="utf-8")):
                yield name.as_posix()


def test_a_formula_is_named_in_its_module_and_its_test() -> None:
    for name, module in (
        ("hybrid_shard_traffic", "memory/traffic"),
        ("electricity_cost", "cost/power"),
        ("expert_capacity", "sharding/experts"),
    ):
        package = module.partition("/")[0]
        needed = [
            file
            for file in naming(rf"\b{name}\b")
            # An explorer, a lab or another formula that uses it was added for its own sake.
            if file.startswith((f"app/formulas/{package}/", "tests/formulas/samples"))
            or f"def test_{name}" in (ROOT / file).read_text(encoding="utf-8")
        ]
        assert needed[0] == f"app/formulas/{module}.py"
        assert len(needed) == 2, needed


def test_an_explorer_is_named_in_its_module() -> None:
    assert naming(r"\bROUTING\b") == ["app/explorers/routing.py"]
    outside = [file for file in naming(r'"routing"|/explore/routing') if "test" not in file]
    assert outside == ["app/explorers/routing.py"]


def test_a_page_is_named_in_four_files() -> None:
    route, part, listed = (
        r'router\.get\("/hardware"',
        r"import [^\n]*\bhardware\b",
        r'": "/hardware"',
    )
    # Links to a page, and tests of what is on it, are not needed for it to be there.
    assert [*naming(f"{route}|{part}|{listed}"), "templates/reference/hardware.html"] == [
        "app/web/__init__.py",
        "app/web/reference/hardware.py",
        "tests/pages.py",
        *naming("<h1>{% trans %}Hardware and models"),
    ]


def test_a_formula_with_names_of_its_own_needs_no_sample() -> None:
    def drained(reservoir: Bytes, taps: Count, pause: Seconds = 0.0) -> Seconds:
        """Seconds until a reservoir is empty."""
        return reservoir / taps + pause

    formula = formula_of("cost.drained", drained)
    assert formula.function(**legal(formula)) == 1.5e9 / 12 + 0.3
    inputs = formula.inputs
    assert 0 in illegal(inputs["taps"])
    assert 0 not in illegal(inputs["pause"])  # its default


NEW = '''
"""Nothing much."""

from app.explorers.base import Explorer

FRESH = Explorer(**{field: "" for field in Explorer.__dataclass_fields__} | {"name": "fresh"})
'''


def test_to_write_an_explorer_is_all_it_takes(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "app", tmp_path / "app")
    (tmp_path / "templates").symlink_to(ROOT / "templates")
    (tmp_path / "app" / "explorers" / "new.py").write_text(NEW, encoding="utf-8")
    code = "from app.explorers import EXPLORERS; print(*EXPLORERS)"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "fresh" in ran.stdout.split()
