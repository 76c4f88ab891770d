"""To add one thing touches few files: those that name one that is there are counted."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.folders import ROOT
from app.core.formulas import formula_of
from app.core.units import Bytes, Count, Seconds
from tests.formulas.samples import illegal, legal

ROOMS = ("app", "templates", "static", "tests")
CODE = (".py", ".html", ".js", ".css")
HERE = Path(__file__)
CONTENT = ("content", "docs", "vendor", "recorded", "tables")  # what speaks of them


def naming(pattern: str) -> list[str]:
    """The files of code that *pattern* is found in."""
    return sorted(_naming(re.compile(pattern)))


def _naming(pattern: re.Pattern[str]) -> Iterator[str]:
    for room in ROOMS:
        for path in (ROOT / room).rglob("*"):
            name = path.relative_to(ROOT)
            if path.suffix not in CODE or path == HERE or set(CONTENT) & set(name.parts):
                continue
            if pattern.search(path.read_text(encoding="utf-8")):
                yield name.as_posix()


def test_a_formula_is_named_in_its_module_and_its_test() -> None:
    for name, module in (
        ("hybrid_shard_traffic", "memory/states"),
        ("electricity_cost", "cost"),
        ("expert_capacity", "sharding/experts"),
    ):
        package = module.partition("/")[0]
        needed = [
            file
            for file in naming(rf"\b{name}\b")
            # An explorer, a lab or another formula that uses it was added for its own sake.
            if file.startswith((f"app/core/formulas/{package}", "tests/formulas/samples"))
            or f"def test_{name}" in (ROOT / file).read_text(encoding="utf-8")
        ]
        assert needed[0] == f"app/core/formulas/{module}.py"
        assert len(needed) == 2, needed


def test_an_explorer_is_named_in_its_module() -> None:
    assert naming(r"\bROUTING\b") == ["app/course/explorers/routing.py"]
    outside = [file for file in naming(r'"routing"|/explore/routing') if "test" not in file]
    assert outside == ["app/course/explorers/routing.py"]


def importing(name: str) -> list[str]:
    """The files of Python that import *name* from somewhere, on however many lines."""
    return [
        path.relative_to(ROOT).as_posix()
        for room in ("app", "tests")
        for path in sorted((ROOT / room).rglob("*.py"))
        if not set(CONTENT) & set(path.parts)
        and re.search(rf"\b{name}\b", text := path.read_text(encoding="utf-8"))
        and imports(text, name)
    ]


def imports(text: str, name: str) -> bool:
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
    return any(alias.name == name for node in found for alias in node.names)


def test_an_import_is_found_however_its_lines_are_wrapped() -> None:
    assert imports("from a import b, hardware", "hardware")
    assert imports("from a import (\n    b,\n    hardware,\n)\n", "hardware")
    assert imports("from a import hardware as other", "hardware")
    assert not imports("from hardware import a\nimport b; hardware = 1", "hardware")


def test_a_page_is_named_in_three_files() -> None:
    # Links to a page, and tests of what is on it, are not needed for it to be there.
    files = {
        *naming(r'router\.get\(\s*"/hardware"'),
        *importing("hardware"),
        *naming(r'":\s*"/hardware"'),
        *naming(r"<h1>{% trans %}\s*Hardware\s+and\s+models"),
    }
    assert files == {"app/site/web/reference/formulas.py", "templates/reference/hardware.html", "tests/pages.py"}


def test_a_formula_with_names_of_its_own_needs_no_sample() -> None:
    def drained(reservoir: Bytes, taps: Count, pause: Seconds = 0.0) -> Seconds:
        """Seconds until a reservoir is empty."""
        return reservoir / taps + pause

    formula = formula_of("cost.drained", drained)
    assert formula.function(**legal(formula)) == 1.5e9 / 12 + 0.3
    inputs = formula.inputs
    assert 0 in illegal(inputs["taps"])
    assert 0 not in illegal(inputs["pause"])  # its default


NEW = '''
"""Nothing much."""

from app.course.explorers.base import Explorer

FRESH = Explorer(**{field: "" for field in Explorer.__dataclass_fields__} | {"name": "fresh"})
'''


READER = '''
"""Latencies of the OSU micro-benchmarks."""

import re

from app.core.measurements.readers.nccl_tables import CollectiveReader
from app.core.measurements.table import RawRow, CollectiveTable, collective_named

TITLE = re.compile(r"# OSU .*?(\\w+) Latency Test")
RANKS = re.compile(r"# ranks (\\d+)")
ROW = re.compile(r"(\\d+) +(\\d+\\.\\d+)$")


class OsuReader(CollectiveReader):
    reads = "output of the OSU micro-benchmarks"
    looks = "table of the OSU micro-benchmarks"
    sample = "# OSU MPI-CUDA Allreduce Latency Test v7.4\\n1048576    52.43\\n8388608    301.7\\n"

    def __init__(self):
        self._tables = []

    def take(self, line):
        if title := TITLE.match(line):
            self._tables.append(CollectiveTable(tool="osu", collective=collective_named(title[1])))
        elif (row := ROW.match(line)) and self._tables:
            self._tables[-1].add(RawRow(int(row[1]), out_of_place=(row[2],)))
        elif (ranks := RANKS.match(line)) and self._tables:
            self._tables[-1].said = int(ranks[1])
        else:
            return False
        return True

    def finish(self):
        return self._tables
'''


FAMILY = '''
"""Logs of a program that is new."""

import re

from app.core.measurements.logs.families.small_trainers import LogFamily

FRESH = LogFamily(
    name="fresh",
    title="Fresh Trainer",
    step=re.compile(r"^turn (?P<step>[0-9]+) of (?P<total>[0-9]+),"),
    sample="turn 7 of 90, step time: 2.5 s, tokens/s/gpu: 4.1K\\n",
    source="made",
)
'''


def copied(tmp_path: Path, module: str, text: str) -> Path:
    """A copy of the project with one more module."""
    shutil.copytree(ROOT / "app", tmp_path / "app")
    (tmp_path / "templates").symlink_to(ROOT / "templates")
    (tmp_path / "app" / module).write_text(text, encoding="utf-8")
    return tmp_path


def ran(folder: Path, *arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def test_to_write_an_explorer_is_all_it_takes(tmp_path: Path) -> None:
    folder = copied(tmp_path, "course/explorers/new.py", NEW)
    code = "from app.course.explorers import EXPLORERS; print(*EXPLORERS)"
    assert "fresh" in ran(folder, "-c", code).split()


def test_to_write_a_reader_of_measurements_is_all_it_takes(tmp_path: Path) -> None:
    folder = copied(tmp_path, "core/measurements/readers/osu.py", READER)
    title = "# OSU MPI-CUDA Allreduce Latency Test v7.4\n"
    (folder / "one.txt").write_text(f"{title}8388608    301.7\n", encoding="utf-8")
    (folder / "two.txt").write_text(f"{title}# ranks 8\n8388608    301.7\n", encoding="utf-8")
    unknown, known = json.loads(ran(folder, "-m", "app", "measured", "--json", "one.txt", "two.txt"))
    assert [one["kind"] for one in (unknown, known)] == ["osu", "osu"]
    assert [one["collective"] for one in (unknown, known)] == ["all_reduce", "all_reduce"]
    algbw = 8388608 / 301.7e-6
    assert known["ranks"] == 8
    assert known["rows"][0]["busbw"] == pytest.approx(2 * 7 / 8 * algbw)
    assert not any("ranks" in doubt for doubt in known["doubts"])
    assert unknown["ranks"] is None
    assert unknown["rows"][0]["busbw"] == pytest.approx(algbw)
    assert "nothing tells the ranks" in unknown["doubts"][0]
    (folder / "notes.txt").write_text("nothing", encoding="utf-8")
    code = "from pathlib import Path; from app.core.measurements.file_reader import read_files; "
    said = ran(folder, "-c", f"{code} print(read_files([Path('notes.txt')]))")
    assert "no table of the OSU micro-benchmarks" in said


def test_to_write_a_family_of_training_logs_is_all_it_takes(tmp_path: Path) -> None:
    folder = copied(tmp_path, "core/measurements/logs/families/fresh.py", FAMILY)
    line = "turn {} of 90, step time: {} s, tokens/s/gpu: 4.1K\n"
    text = "".join(line.format(n, 2 + n / 2) for n in (1, 2, 3)) + line.format(1, 9)
    (folder / "log.txt").write_text(text, encoding="utf-8")
    first, again = json.loads(ran(folder, "-m", "app", "measured", "--json", "log.txt"))
    assert (first["family"], first["steps"], first["step_time"]) == ("fresh", 3, 3.0)
    assert first["tokens_per_second_per_gpu"] == 4100
    assert again["step_time"] == 9
    (folder / "notes.txt").write_text("nothing", encoding="utf-8")
    code = "from pathlib import Path; from app.core.measurements.file_reader import read_files; "
    assert "Fresh Trainer" in ran(folder, "-c", f"{code} print(read_files([Path('notes.txt')]))")


def changed(folder: Path, module: str, before: str, after: str) -> None:
    """Change a module of a copy at the first place that has *before*."""
    path = folder / "app" / module
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


COLUMN = """
    GradebookColumn(
        name="begun", sort="begun", head="begun", title="Begun", says="how many were begun",
        value=lambda one: sum(points is not None for points in one.points),
    ),
    GradebookColumn(
        name="overall_percent","""

ANSWERED = """
from sqlalchemy import insert
from app.server.config import Settings
from app.server.db.migrations import migrate
from app.server.db.session import connect, open_session
from app.server.db.learner_cookie import signing_secret
from app.server.db.tables import Attempt, AttemptRow
from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import create_taught_class, enroll
from app.classes.people.counted_answers import variant_seed
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
settings = Settings()
migrate(settings.database)
engine = connect(settings.database)
secret = signing_secret(engine, settings.secret)
with open_session(engine) as session:
    row, code = create_taught_class(session, secret, "Rings", "UTC", "Ada", pseudonyms=False)
    entries = [AssignmentEntry("a/b", 1.0), AssignmentEntry("a/c", 1.0)]
    made = create_assignment(session, row.id, "One", Policy(), entries)
    person = new_person(session, "Grace")
    enroll(session, row.id, person.id)
    seed = variant_seed(secret, made, "a/b", person.learner)
    answer = Attempt(learner=person.learner, exercise="a/b", seed=seed, answer="1", correct=True, score=1.0,
                     digest="", drawn="{}")
    session.connection().execute(insert(AttemptRow), [vars(answer)])
    session.commit()
print(code)
"""

SHOWN = """
import json
from fastapi.testclient import TestClient
from app.server.config import Settings
from app.server.db.session import open_session
from app.server.db.learner_cookie import create_token
from app.main import create_app
from app.classes.people.persons import seat_of_code
with TestClient(create_app(Settings(sandbox_workers=1)), base_url="https://testserver") as client:
    with open_session(client.app.state.site.engine) as session:
        token = create_token(session, "adding", scope="admin")
    grades = client.get("/api/v1/classes/1/grades", headers={"Authorization": f"Bearer {token}"}).json()
    schema = client.get("/api/v1/openapi.json").json()["components"]["schemas"]["PersonGrades"]
    client.post("/sign-in", data={"code": CODE}, headers={"Origin": "https://testserver"})
    page = client.get("/classes/1/grades?sort=begun&down=yes").text
print(json.dumps([grades["people"][0]["begun"], schema["properties"]["begun"]["description"],
                  ">Begun<" in page, 'aria-sort="descending"' in page]))
"""


def test_a_column_of_the_gradebook_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page, the file, JSON and the command have it."""
    folder = copied(tmp_path, "classes/people/nothing.py", "")
    changed(folder, "classes/people/gradebook.py", '\n    GradebookColumn(\n        name="overall_percent",', COLUMN)
    for name in ("exercises", "static", "alembic", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{folder / 'w.db'}")
    code = ran(folder, "-c", ANSWERED).strip()
    assert ran(folder, "-m", "app", "grades", "1").splitlines()[0].endswith(",total,begun,overall %")
    (first, *_) = json.loads(ran(folder, "-m", "app", "grades", "1", "--json"))["people"]
    assert first["begun"] == sum(points is not None for points in first["points"].values()) == 1
    shown = json.loads(ran(folder, "-c", SHOWN.replace("CODE", repr(code))))
    assert shown == [first["begun"], "how many were begun", True, True]


RULE = """
    late_days: Annotated[
        int, Field(description="days after which late answers count no more"),
        NumberRule(label="Late days", what="the late days", most=30),
    ] = 0
    archived: datetime | None = None
"""

USED = """
import json
from zoneinfo import ZoneInfo
from starlette.datastructures import FormData
from app.classes.api.shapes import NewAssignment
from app.server.config import Settings
from app.server.db.migrations import migrate
from app.server.db.session import connect, open_session
from app.classes.people.assignments import AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import create_class
from app.classes.people.policy import Policy
from app.classes.pages.assignment_form import AssignmentForm, assignment_form_of, parse_form, rule_fields
settings = Settings()
migrate(settings.database)
with open_session(connect(settings.database)) as session:
    number = create_class(session, "s", "Rings").id
    entries = [AssignmentEntry("a/b", 1.0)]
    made = create_assignment(session, number, "One", Policy(late_days=2), entries)
    stored = assignment_with(session, made)
    usual = assignment_with(session, create_assignment(session, number, "Two", Policy(), entries))
    refused = ""
    try:
        create_assignment(session, number, "Three", Policy(late_days=31), entries)
    except Exception as error:
        refused = str(error)
form = assignment_form_of(stored)
sent = [("title", "One"), ("exercise", "a/b"), ("grace", "5"), ("attempts", "0"), ("variants", "own"),
        ("hints", "free"), ("hint_cost", "10"), ("solution", "due"), ("after", "late"), ("late", "0"), ("late_days", "4")]
read = AssignmentForm.read(FormData(sent))
print(json.dumps([
    stored.policy.late_days, usual.policy.late_days, NewAssignment(title="x", late_days=3).late_days,
    form.rules["late_days"], rule_fields(form)["late_days"].label, parse_form(read, ZoneInfo("UTC")).policy.late_days,
    stored.version == usual.version, refused,
]))
"""


def test_a_rule_of_an_assignment_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The form, JSON and what is stored have it."""
    folder = copied(tmp_path, "classes/people/nothing.py", "")
    changed(folder, "classes/people/policy.py", "\n    archived: datetime | None = None\n", RULE)
    for name in ("exercises", "static", "alembic", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{folder / 'w.db'}")
    *found, refused = json.loads(ran(folder, "-c", USED))
    assert found == [2, 0, 3, "2", "Late days", 4, False]
    assert refused == "late_days must be from 0 to 30, not 31"
