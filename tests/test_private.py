"""Private names of others are in a table, are there, and their packages are pinned."""

import re
import tomllib
from contextlib import suppress
from importlib import import_module
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from itertools import chain
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from app.core.folders import ROOT
from tests.private_names import Module, files, known_in, module, names_of, uses
from tests.private_table import NEWEST_TORCH, TABLE

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HAS_TORCH = find_spec("torch") is not None
PRIVATE = [name for (package, _), names in TABLE.items() for name in names if HAS_TORCH or package != "torch"]


def resolved(name: str) -> Any:
    """What *name* is of: a module, or something in one."""
    found: Any = import_module(name.partition(".")[0])
    for end in (name[: n.start()] for n in re.finditer(r"\.|$", name) if "." in name[: n.start()]):
        with suppress(ImportError):
            import_module(end)
        last = end.rpartition(".")[2]
        if not hasattr(found, last) and last in names_of(found):
            return None  # only what its class makes has it
        found = getattr(found, last)
    return found


def of_one_minor(range_: SpecifierSet) -> bool:
    """Whether *range_* is within one minor version; of 0.1.8, that is all of 0.1."""
    ends = {one.operator: Version(one.version).release[:2] for one in range_}
    if "==" in ends:
        return True
    low, high = ends.get(">=", ()), ends.get("<", ())
    return bool(low) and high == (low[0], low[1] + 1)


def ranges(package: str, *extras: str) -> list[SpecifierSet]:
    """The ranges in which pyproject.toml names *package*: for the app, and for *extras*."""
    optional = PROJECT["optional-dependencies"]
    named = chain(PROJECT["dependencies"] if "" in extras else (), *(optional[e] for e in extras if e))
    return [one.specifier for one in map(Requirement, named) if canonicalize_name(one.name) == package]


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_name_is_there(name: str) -> None:
    resolved(name)


@pytest.mark.parametrize(("package", "range_"), TABLE)
def test_a_package_with_private_names_is_pinned_to_a_minor_version(package: str, range_: str) -> None:
    assert of_one_minor(SpecifierSet(range_))
    in_app = any(file.startswith("app/") for places in TABLE[package, range_].values() for file in places)
    pins = ranges(package, "" if in_app and package != "torch" else "test")
    assert pins == [SpecifierSet(range_)]
    if package != "torch":
        assert Version(version(package)) in SpecifierSet(range_)


def test_labs_admit_no_torch_that_is_newer_than_the_tested_one() -> None:
    """Its private names changed in some minor versions, and will."""
    (tested,), (lab,) = ranges("torch", "test")[0], ranges("torch", "lab")
    newest = Version(NEWEST_TORCH)
    here = [version("torch")] if HAS_TORCH else []
    assert [one for one in (NEWEST_TORCH, tested.version, *here) if one not in lab] == []
    assert Version(f"{newest.major}.{newest.minor + 1}") not in lab


@pytest.mark.sweep
def test_no_private_name_of_others_is_used_that_the_table_does_not_name() -> None:
    named = {(name, file) for names in TABLE.values() for name, places in names.items() for file in places}
    new = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files()
        for name in sorted(uses(module(path), known_in(module(path))))
        if (name, path.relative_to(ROOT).as_posix()) not in named
        if HAS_TORCH or not name.startswith("torch.")
    ]
    assert new == [], "use the public way, or pin the package and name it in TABLE"


def test_every_name_of_the_table_is_used_where_it_says() -> None:
    for names in TABLE.values():
        for name, places in names.items():
            for file in places:
                last = name.rpartition(".")[2]
                assert re.search(rf"\b{last}\b", (ROOT / file).read_text(encoding="utf-8")), name


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from uvicorn.lifespan.on import LifespanOn", {"uvicorn.lifespan.on.LifespanOn"}),
        ("import uvicorn.lifespan.on", {"uvicorn.lifespan.on"}),
        ("import uvicorn\nuvicorn.lifespan.on.LifespanOn()", {"uvicorn.lifespan.on.LifespanOn"}),
        ("from jinja2.compiler import CodeGenerator as G", {"jinja2.compiler.CodeGenerator"}),
        ("import _thread", {"_thread"}),
        ("import importlib._bootstrap as b", {"importlib._bootstrap"}),
        ("from importlib import _bootstrap_external", {"importlib._bootstrap_external"}),
        ("from starlette import _utils", {"starlette._utils"}),
        ("from starlette.routing import replace_params, get_name", {"starlette.routing.get_name"}),
        ("import os\nos._get_exports_list(os)", {"os._get_exports_list"}),
        ("import sys\nsys._current_frames()", {"sys._current_frames"}),
        ("import gettext as g\ng.find('x')._catalog", {"?._catalog"}),
        ("def f(x):\n    return x.y()._catalog", {"?._catalog"}),
        ("def f(x):\n    return getattr(x, '_catalog', {})", {"?._catalog"}),
        ("def f(patch, x):\n    patch.setattr(x, '_catalog', {})", {"?._catalog"}),
        ("def f(patch):\n    patch.setattr('gettext._translations', {})", {"gettext._translations"}),
        ("def f(x):\n    return vars(x)['_catalog']", {"?._catalog"}),
        ("def f(x):\n    return x.__dict__['_catalog']", {"?._catalog"}),
        ("import operator\noperator.attrgetter('_catalog')", {"?._catalog"}),
        ("import importlib\nimportlib.import_module('uvicorn._types')", {"uvicorn._types"}),
        ("import sys\nsys.modules['_io']", {"_io"}),
        ("class A:\n    def f(self):\n        return self._catalog", {"?._catalog"}),
        (
            "from jinja2 import Environment\nclass A(Environment):\n    def _parse(self, a, b, c): ...",
            {"jinja2.Environment._parse"},
        ),
        (
            "from threading import Thread\nclass A(Thread): ...\nclass B(A):\n"
            "    def f(self):\n        self._target = 1",
            {"threading.Thread._target"},
        ),
        ("class A:\n    def __init__(self):\n        self._catalog = self.__x = 1", set()),
        ("import os, sqlalchemy.orm\nos._exit(1)\nx = {}\nx._replace(a=1)", set()),
        ("from fastapi.routing import APIRoute\nfrom app.core.translation import _spoken", set()),
    ],
)
def test_private_names_are_found(source: str, found: set[str]) -> None:
    read = Module(ROOT / "app" / "example.py", source)
    assert uses(read, known_in(read)) == found


def test_a_private_name_of_ours_that_a_file_does_not_import_may_be_of_others() -> None:
    """So a name that is private here, too, does not hide one of a dependency."""
    source = "def f(x):\n    return x._queue"
    for beginning, found in (("", {"?._queue"}), ("from app.course.sandbox.pool import Pool\n", set())):
        read = Module(ROOT / "app" / "example.py", beginning + source)
        assert uses(read, known_in(read)) == found


def test_what_is_imported_is_declared() -> None:
    """A package that another one happens to install may be gone with its next version."""
    optional = PROJECT["optional-dependencies"]
    declared = {
        folder: {
            canonicalize_name(Requirement(one).name)
            for one in chain(PROJECT["dependencies"], *(optional[extra] for extra in extras))
        }
        for folder, extras in {"app": ("lab", "people", "postgres"), "tests": optional, "tools": optional}.items()
    }
    providers = packages_distributions()
    missing = {
        provider
        for path in files()
        for name in module(path).modules
        for provider in map(canonicalize_name, providers.get(name.partition(".")[0], ()))
        if provider not in declared.get(path.relative_to(ROOT).parts[0], declared["app"])
    }
    assert missing - {"wallclock"} == set()
