"""What an export takes along is all that its modules import."""

from app.exporting.python import WHEELS, outside_packages, packages

LATER = {"numpy", "torch"}  # imported inside of functions that only a server calls


def test_modules_of_an_export_import_only_packages_that_it_has() -> None:
    pure = {place.partition("/")[0].removesuffix(".py") for place, _ in packages()}
    compiled = {wheel.partition("-")[0] for wheel in WHEELS}
    assert outside_packages() - LATER - pure - compiled == set()
