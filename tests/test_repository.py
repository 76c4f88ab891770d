"""What the files at the root say of the code is true."""

import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from app.__main__ import main
from app.core.folders import ROOT
from tests.test_architecture import PARTS, ROOMS

README, CONTRIBUTING = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
PAGES = (ROOT / "README.md", *sorted((ROOT / "app" / "docs").glob("*.md")))
VENDOR = ROOT / "static" / "vendor"
TOP_LEVEL = {"alembic", "app", "deploy", "exercises", "static", "templates", "tests", "tools"}


def shown() -> Iterator[tuple[str, str]]:
    """Each command of the documentation whose output stands beside it."""
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            command, hash_sign, output = line.partition("  #")
            if hash_sign and command.startswith("wallclock formula ") and "=" in command:
                yield command, output.strip()


def below(room: str, may: Mapping[str, set[str]]) -> set[str]:
    """All that *room* may import, and what that may import, and so on."""
    return may[room] | {deeper for other in may[room] for deeper in below(other, may)}


def arrows(may: Mapping[str, set[str]]) -> list[str]:
    """The arrows of *may* that no longer way makes superfluous."""
    return [
        f"{room} --> {other}"
        for room in may
        for other in sorted(may[room])
        if not any(other in below(between, may) for between in may[room] - {other})
    ]


def test_everything_names_the_pythons_of_the_classifiers() -> None:
    found = [re.fullmatch(r".*:: Python :: 3\.(\d+)", one) for one in PROJECT["classifiers"]]
    minors = [int(one[1]) for one in found if one]
    first, last = minors[0], minors[-1]
    assert minors == list(range(first, last + 1))
    assert PROJECT["requires-python"] == f">=3.{first}"
    assert PYPROJECT["tool"]["ruff"]["target-version"] == f"py3{first}"
    assert PYPROJECT["tool"]["mypy"]["python_version"] == f"3.{first}"
    for page in (README, CONTRIBUTING):
        assert f"You need Python 3.{first} or newer, tested up to 3.{last}, and make." in page
    assert f"sys.version_info < (3, {first})" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_drawing_of_the_parts_is_the_table_that_tests_hold() -> None:
    drawn = re.findall(r"^    (\S+ --> \S+)$", CONTRIBUTING, re.MULTILINE)
    assert sorted(drawn) == sorted(arrows(PARTS)), "draw these:\n    " + "\n    ".join(arrows(PARTS))


def test_every_room_is_described() -> None:
    rows = re.findall(r"^\| (`.+?`) \| ", CONTRIBUTING, re.MULTILINE)
    described = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {room for rooms in ROOMS.values() for room in rooms} <= described


@pytest.mark.needs("git")
def test_the_top_level_is_what_it_is() -> None:
    """A folder more is a decision, not what a tool has left behind."""
    if not (ROOT / ".git").exists():
        pytest.skip("an archive without a history")
    listed = subprocess.run(
        ["git", "ls-tree", "-d", "--name-only", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    folders = set(listed.stdout.split())
    assert folders == {*TOP_LEVEL, ".ci"}


def test_the_files_that_it_names_are_there() -> None:
    named = re.findall(r"`((?:app|tests|templates|static|exercises|alembic)/[\w/.]+)`", CONTRIBUTING)
    assert len(named) > 10
    exact = [name for name in named if not re.search("[A-Z]{4}", name)]  # TOPIC/NAME
    assert [name for name in exact if not (ROOT / name).exists()] == []


def test_the_readme_is_a_screen_and_a_half() -> None:
    lines = README.splitlines()
    assert len(lines) <= 65
    assert "static/screenshot.png" in README


def test_the_readme_does_not_promise_more_exercises_than_there_are() -> None:
    (promised,) = re.findall(r"more than (\d+) exercises", README)
    files = [path for path in (ROOT / "exercises").glob("*/*.yaml") if path.stem != "topic"]
    assert len(files) > int(promised)


@pytest.mark.parametrize(("command", "output"), list(shown()))
def test_a_command_of_the_documentation_prints_what_stands_beside_it(
    command: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out.strip() == output


def test_there_are_such_commands() -> None:
    assert len(list(shown())) >= 3


def test_the_citation_is_of_this_license() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == PROJECT["license"].partition(" AND ")[0]


def test_every_license_file_is_there_and_carried() -> None:
    for pattern in PROJECT["license-files"]:
        assert list(ROOT.glob(pattern)), pattern
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_every_bundled_package_and_font_has_its_license() -> None:
    packages = json.loads((VENDOR / "manifest.json").read_text(encoding="utf-8"))
    licenses = (VENDOR / "LICENSES.txt").read_text(encoding="utf-8")
    for bundle in packages.values():
        for name, number in bundle["from"].items():
            assert f"== {name} {number} (MIT) ==" in licenses
    fonts = ROOT / "static" / "fonts"
    notice = (fonts / "LICENSES.txt").read_text(encoding="utf-8")
    listed = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE" in notice
    for font in fonts.glob("*.woff2"):
        assert font.name in notice
        assert f"`{font.name}`" in listed


def test_no_font_bears_a_reserved_name() -> None:
    from fontTools.ttLib import TTFont  # type: ignore[import-untyped]

    for font in (ROOT / "static" / "fonts").glob("*.woff2"):
        names = {entry.nameID: str(entry) for entry in TTFont(font)["name"].names}
        assert "with Reserved Font Name" not in names[0] or "Source" not in names[1] + names[4]


def test_every_quoted_table_names_its_source() -> None:
    tables = sorted(Path(ROOT / "tests" / "tables").glob("*.json"))
    assert len(tables) > 20
    for table in tables:
        assert json.loads(table.read_text(encoding="utf-8"))["source"], table.name
