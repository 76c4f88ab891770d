"""Tests that a learner may take for the measurement of a lab: their own, and published ones."""

from collections.abc import Mapping
from contextlib import suppress

from app.core.errors import InputError
from app.core.measurements.file_reader import read_stored
from app.core.measurements.published import published_tests
from app.core.measurements.reports import CollectiveTest
from app.core.translation import noted, translate
from app.labs.results.report import Report
from app.server.db.measurements import saved_measurements
from app.site import Site
from app.site.labs.nccl_tests import borrow_run, nccl_tests_runs

OWN = noted("your own file")


def tests_to_take(site: Site, learner: str) -> Mapping[str, tuple[Report, str, str]]:
    """Tests as runs, what they are, and whose: the learner's own come first."""
    found = {}
    for row in saved_measurements(site.engine, learner):
        with suppress(InputError):
            test = read_stored(row.report)
            if isinstance(test, CollectiveTest) and (report := borrow_run(test, row.name)):
                found[row.name] = (report, row.title, translate(OWN))
    return {**found, **nccl_tests_on_file()}


def nccl_tests_on_file() -> Mapping[str, tuple[Report, str, str]]:
    """Published tests as runs, what they are, and whose."""
    found = {}
    for name, report in nccl_tests_runs().items():
        one = published_tests()[name]
        whose = "/".join(one.address.split("/")[2:5])
        found[name] = (report, f"{one.hardware}: {report.ranks:,} ranks", f"published: {whose}")
    return found
