"""Every reader reads the text of its own tool, and its reports are shown everywhere."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.__main__ import main
from app.core.measurements.file_reader import read_files, read_stored, saved_report
from app.core.measurements.readers import TEXT_READERS, TextReader
from app.core.measurements.reports import UnreadFile


@pytest.fixture(params=TEXT_READERS, ids=lambda reader: reader.__name__)
def reader(request: pytest.FixtureRequest) -> type[TextReader]:
    found: type[TextReader] = request.param
    return found


def test_a_reader_takes_the_text_of_its_tool_and_no_other_does(reader: type[TextReader]) -> None:
    others = [one() for one in TEXT_READERS if one is not reader and not one.takes_the_rest]
    lines = reader.sample.splitlines()
    own = reader()
    assert sum(own.take(line) for line in lines)
    assert len(list(own.reports())) == 1
    for other in others:
        for line in lines:
            other.take(line)
        assert not list(other.reports())


def test_what_it_reads_is_shown_printed_and_stored(
    reader: type[TextReader], client: TestClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "printed.txt"
    file.write_text(reader.sample, encoding="utf-8")
    (report,) = read_files([file])
    assert not isinstance(report, UnreadFile)
    assert read_stored(saved_report(report)) == report
    assert main(["measured", str(file)]) == 0
    assert "cannot" not in capsys.readouterr().out
    page = client.post("/measured", data={"text": reader.sample})
    assert page.status_code == 200
    assert "<h2" in page.text


def test_a_text_of_no_tool_is_told_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    (tmp_path / "packed").write_bytes(b"PK")
    missing, wrong = read_files([tmp_path / "notes.txt", tmp_path / "packed"])
    for reader in TEXT_READERS:
        assert reader.looks in str(missing)
        assert reader.reads in str(wrong)
