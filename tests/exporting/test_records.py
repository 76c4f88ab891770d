"""A browser has the records of its learner by the same methods as a server."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from app.exporting.python import BROWSER
from app.server.db import records


def methods(path: Path, name: str) -> Mapping[str, str]:
    """The arguments and the result of each method of the class *name* in *path*."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return {
        node.name: re.sub(
            r"\b\w+\.(?=[A-Z])", "", f"{ast.unparse(node.args)} -> {ast.unparse(node.returns or ast.Constant(None))}"
        )
        for node in found.body
        if isinstance(node, ast.FunctionDef)
    }


def test_a_browser_has_every_method_of_the_records_of_a_server() -> None:
    asked = methods(Path(records.__file__), "LearnerRecords")
    here = methods(BROWSER / "rooms" / "server" / "db" / "shelf.py", "Shelf")
    assert len(asked) > 10
    assert {name: here.get(name) for name in asked} == asked
