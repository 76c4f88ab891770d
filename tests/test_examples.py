"""The examples in docstrings print what they say."""

import doctest
from importlib import import_module
from pathlib import Path

from app.core.folders import ROOT
from tests.each import each

NEED_TORCH = {ROOT / "app" / "labs" / name for name in ("ranks", "runner")}


def _examples() -> list[str]:
    """The modules that have examples."""
    files = [path for path in sorted((ROOT / "app").rglob("*.py")) if NEED_TORCH.isdisjoint(path.parents)]
    found = [path for path in files if ">>>" in path.read_text(encoding="utf-8")]
    return [".".join(_name(path)) for path in found]


def _name(path: Path) -> tuple[str, ...]:
    return path.relative_to(ROOT).with_suffix("").parts


@each("name", _examples())
def test_examples_print_what_they_say(name: str) -> None:
    done = doctest.testmod(import_module(name), verbose=False, raise_on_error=False)
    assert done.attempted > 0
    assert done.failed == 0
