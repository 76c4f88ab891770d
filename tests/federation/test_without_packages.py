"""A server without the extra `people`: classes work, and a page says what to install."""

import ast
import re
from pathlib import Path

from app.core.folders import ROOT

APP = ROOT / "app"
PACKAGES = {"httpx2", "joserfc", "cryptography"}


def imported(path: Path) -> set[str]:
    """The modules that are imported as soon as *path* is, or soon after the start: not those within functions."""
    text = path.read_text(encoding="utf-8")
    found = set(re.findall(r'LateModule\("([\w.]+)"', text))
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def file_of(module: str) -> Path | None:
    stem = ROOT.joinpath(*module.split("."))
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)


def test_no_module_that_every_server_imports_needs_the_extra() -> None:
    waiting, seen = ["app.main", "app.classes.part"], set()
    needed = set()
    while waiting:
        module = waiting.pop()
        path = file_of(module)
        if path is None or path in seen:
            continue
        seen.add(path)
        names = imported(path)
        needed |= {f"{module}: {name}" for name in names if name.partition(".")[0] in PACKAGES}
        waiting += [name for name in names if name.startswith("app.")]
    assert APP / "classes" / "pages" / "provider_sign_in.py" in seen
    assert needed == set()
