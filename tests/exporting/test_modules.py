"""What an export takes along is all that its modules import."""

import sys

from app.exporting.python import WHEELS, imports_of, modules, packages

LATER = {"numpy", "torch", "yaml"}  # imported inside of functions that only a server calls


def test_modules_of_an_export_import_only_packages_that_it_has() -> None:
    pure = {place.partition("/")[0].removesuffix(".py") for place, _ in packages()}
    compiled = {wheel.partition("-")[0] for wheel in WHEELS}
    names = {name.partition(".")[0] for path in modules().values() for name in imports_of(path)}
    assert names - sys.stdlib_module_names - {"app"} - LATER - pure - compiled == set()
