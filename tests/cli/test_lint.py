"""What `wallclock lint` prints of what it found, and folders that an export does not take."""

from pathlib import Path

import pytest

from app.__main__ import main
from app.authoring.lint import LintReport, Note
from app.commands.lint import findings_document, print_findings
from app.core.errors import Problem
from tests.each import each

Capture = pytest.CaptureFixture[str]


@each(
    ("files", "count", "says"),
    [
        (0, 0, "0 exercise files, no problems"),
        (1, 0, "1 exercise file, no problems"),
        (2, 1, "2 exercise files, 1 problem"),
        (1, 2, "1 exercise file, 2 problems"),
    ],
)
def test_files_and_problems_are_counted(files: int, count: int, says: str, capsys: Capture) -> None:
    linted = LintReport(files, (Problem(Path("/a.yaml"), 1, "wrong"),) * count, ())
    assert print_findings(linted) == (1 if count else 0)
    assert capsys.readouterr().err == f"{says}\n"


def test_findings_have_their_place_from_here_their_level_and_their_cure(capsys: Capture) -> None:
    here = Path.cwd() / "mine" / "a.yaml"
    problems = (Problem(here, 3, "wrong", "mend it"), Problem(Path("/else/b.yaml"), 4, "bad"))
    notes = (Note(here, "slow", "warning", 7), Note(here, "old"))
    linted = LintReport(2, problems, notes)
    assert print_findings(linted) == 1
    found = capsys.readouterr()
    assert found.out.splitlines() == ["mine/a.yaml:3: wrong; mend it", "/else/b.yaml:4: bad"]
    assert found.err.splitlines()[:2] == ["mine/a.yaml:7: warning: slow", "mine/a.yaml: old"]
    assert findings_document(linted) == {
        "files": 2,
        "problems": [
            {"path": "mine/a.yaml", "line": 3, "level": "error", "says": "wrong", "cure": "mend it"},
            {"path": "/else/b.yaml", "line": 4, "level": "error", "says": "bad", "cure": ""},
        ],
        "notes": [
            {"path": "mine/a.yaml", "line": 7, "level": "warning", "says": "slow"},
            {"path": "mine/a.yaml", "line": 0, "level": "note", "says": "old"},
        ],
    }


def test_an_export_overwrites_no_file_and_no_folder_of_others(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "file"
    file.touch()
    assert main(["export", str(file)]) == 1
    assert "is a file: name a folder" in capsys.readouterr().err
    assert main(["export", str(tmp_path)]) == 1
    assert "has files that are not an exported course: name a new folder" in capsys.readouterr().err


@each(
    ("arguments", "says"),
    [
        (["serve", "--port", "65536"], "--port must be 0 to 65535, not 65536"),
        (["serve", "--port", "-1"], "--port must be 0 to 65535, not -1"),
        (["serve", "--workers", "0"], "--workers must be at least 1, not 0"),
        (["sandbox"], "a sandbox server needs WALLCLOCK_SANDBOX_TOKEN"),
        (["measured", *["x"] * 1025], "at most 1024 files can be read at once"),
    ],
)
def test_what_cannot_be_begun_is_refused_at_once(arguments: list[str], says: str, capsys: Capture) -> None:
    assert main(arguments) == 1
    assert says in capsys.readouterr().err


@each("processes", ["0", "-1", "x"])
def test_answers_are_graded_by_one_process_at_least(processes: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["grade", "answers.jsonl", "--processes", processes])
