"""Files of measurements are read in a process of its own, as in this one."""

from pathlib import Path

from app.core.measurements.file_reader import read_files, report_values
from app.server.aside.measured_files import measured_apart


def test_a_report_that_is_read_apart_is_that_of_reading_it_here(tmp_path: Path) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        path.write_text(f"nothing that a reader knows, in {path.name}\n")
    here = [report_values(one) for one in read_files(paths)]
    assert here
    assert [report_values(one) for one in measured_apart(paths)] == here
