"""What nothing uses is not there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.folders import ROOT

FILES = [path for path in sorted((ROOT / "app").rglob("*.py")) if "bundle" not in path.parts]
# SQLAlchemy, io, uvicorn, logging, pickle, Jinja, Starlette, the script of an exported course, a training loop
BY_OTHERS = {
    "make_globals", "load_bytecode", "dump_bytecode",  # Jinja calls them
    "process_bind_param", "process_result_value", "writable", "readable", "send_400_response", "Lines",
    "reducer_override", "find_class", "visit_Compare", "visit_BinOp", "filter_stream", "convert", "Desk", "Sniffer",
}  # fmt: skip
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def used(path: Path) -> Iterator[str]:
    """Every name that *path* uses; to import it, or to list it in `__all__`, is not to use it."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and str(node.value).startswith("app."):
            yield str(node.value).rpartition(":")[2]  # as in app.main:served_app


def defined(path: Path) -> Iterator[Definition]:
    """The functions, classes and methods of *path* that no decorator hands to somebody else."""
    for node in parsed(path).body:
        inside = node.body if isinstance(node, ast.ClassDef) else []
        for one in (node, *inside):
            if isinstance(one, Definition) and not _handed_on(one):
                yield one


NOTEBOOKS = "_repr_markdown_"  # what a notebook calls to show a value


def _handed_on(one: Definition) -> bool:
    if one.name == NOTEBOOKS:
        return True
    named = (ast.unparse(decorator) for decorator in one.decorator_list)
    return any(
        name.startswith(("router.", "model_validator", "field_validator")) or "_router." in name for name in named
    )


def _is_formula(path: Path, one: Definition) -> bool:
    """Exercises and learners call the public ones by name; test_every_formula looks at them."""
    return "formulas" in path.parts and not one.name.startswith("_")


def _is_reader(path: Path, one: Definition) -> bool:
    """Their package finds the classes; tests/measurements/test_readers.py looks at them."""
    return "readers" in path.parts and isinstance(one, ast.ClassDef)


@pytest.mark.sweep
def test_every_function_class_and_method_is_used_somewhere() -> None:
    known = {name for path in FILES for name in used(path)} | BY_OTHERS
    for template in (ROOT / "templates").rglob("*.*"):
        known |= set(re.findall(r"\w+", template.read_text(encoding="utf-8")))
    dead = [
        f"{path.relative_to(ROOT)}:{one.lineno}: {one.name}"
        for path in FILES
        for one in defined(path)
        if not one.name.startswith("__")
        and one.name not in known
        and not _is_formula(path, one)
        and not _is_reader(path, one)
    ]
    assert dead == [], "used by nothing: remove it, or use it"
