import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from app.__main__ import main
from app.core.folders import ROOT
from app.core.formulas import FORMULAS
from app.course.content.catalog import Catalog
from app.server.config import Settings
from app.server.db.migrations import migrate
from tests.each import each
from tests.pages import EVERY, PAGES
from tests.waiting import HANGS, wait_until

pytestmark = pytest.mark.slow(60)

RING = "collectives/ring-all-reduce-time"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    database = tmp_path / "data" / "wallclock.db"
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{database}")
    return database


def test_a_formula_prints_its_value(capsys: Capture) -> None:
    arguments = ["size=2 GB", "ranks=8", "bandwidth=50 GB/s"]
    assert main(["formula", "collectives.ring_all_reduce_time", *arguments]) == 0
    assert capsys.readouterr().out == "70 ms\n"
    assert main(["formula", "collectives.ring_all_reduce_time", *arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"value": pytest.approx(0.07), "unit": "s", "text": "70 ms"}


def test_without_a_name_all_formulas_are_listed(capsys: Capture) -> None:
    assert main(["formula"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(FORMULAS)
    assert main(["formula", "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == set(FORMULAS)


def test_a_schedule_is_played_out(capsys: Capture) -> None:
    shape = ["schedule", "1f1b", "--stages", "4", "--microbatches", "12"]
    assert main(shape) == 0
    assert "idle 25 % of the ideal time, 20 % of the step" in capsys.readouterr().out
    assert main([*shape, "--json", "--forward", "10 ms", "--backward-input", "0.01"]) == 0
    played = json.loads(capsys.readouterr().out)
    assert played["bubble_ratio"] == pytest.approx(0.25)
    assert played["ideal_time"] == pytest.approx(12 * 1.02)
    assert played["in_flight"] == [4, 3, 2, 1]
    assert {"device", "stage", "microbatch", "kind", "start", "end"} == played["slots"][0].keys()
    assert main([*shape, "--svg"]) == 0
    assert capsys.readouterr().out.startswith("<svg")


def test_an_interleaved_schedule_is_played_as_the_zero_bubble_paper_estimates_it(capsys: Capture) -> None:
    shape = ["schedule", "interleaved", "--stages", "4", "--microbatches", "8", "--virtual", "2"]
    lasted = []
    for waits in ("every", "first"):
        assert main([*shape, "--communication", "0.25", "--waits", waits, "--json"]) == 0
        lasted.append(json.loads(capsys.readouterr().out)["step_time"])
    assert lasted[0] - lasted[1] == pytest.approx(4 * 0.25)


def test_a_formula_takes_bare_numbers_in_base_units_and_gives_lists(capsys: Capture) -> None:
    bare = ["size=2e9", "ranks=8", "bandwidth=5e10"]
    assert main(["formula", "collectives.ring_all_reduce_time", *bare]) == 0
    assert capsys.readouterr().out == "70 ms\n"
    assert main(["formula", "pipeline.layers_per_stage", "layers=10", "stages=4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == [2, 3, 3, 2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["schedule", "1f1bb", "--stages", "4", "--microbatches", "8"], "did you mean '1f1b'"),
        (["schedule", "1f1b", "--stages", "0", "--microbatches", "8"], "stages must be at least 1"),
        (["schedule", "1f1b", "--stages", "4", "--microbatches", "8", "--forward", "x"], "--forward"),
        (["schedule", "1f1b", "--stages", "4", "--microbatches", "8", "--forward", "-1"], "forward must"),
        (["formula", "collectives.ring_time"], "did you mean"),
        (["formula", "collectives.ring_all_reduce_steps", "ranks"], "ranks=..."),
        (["formula", "collectives.ring_all_reduce_steps", "--json", "8"], "'8' is not an argument"),
        (["formula", "collectives.ring_all_reduce_steps", "ranks=2.5"], "2.5"),
        (["formula", "collectives.ring_all_reduce_steps", "ranks=3", "ranks=4"], "twice"),
        (["formula", "collectives.ring_all_reduce_steps", "rank=3"], "did you mean 'ranks'"),
        (["grade", "/nowhere.jsonl"], "cannot be read"),
        (["grade", "/"], "cannot be read"),
        (["lint", "/nowhere"], "does not exist"),
        (["token", "revoke", "nobody"], "no token is called"),
        (["token", "create", ""], "a token's name"),
        (["backup", "/nowhere/copy.db"], "does not exist yet"),
        (["serve", "--port", "99999"], "0 to 65535"),
        (["serve", "--workers", "0"], "--workers"),
    ],
)
def test_a_wrong_input_gets_one_line(capsys: Capture, arguments: list[str], says: str) -> None:
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


def test_arguments_may_follow_an_option(capsys: Capture) -> None:
    name = "collectives.ring_all_reduce_time"
    assert main(["formula", name, "size=2e9", "--json", "ranks=8", "bandwidth=5e10"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "70 ms"


def test_wrong_usage_is_two() -> None:
    for arguments in ([], ["nothing"], ["formula", "--jsn"], ["token"], ["token", "list", "a=b"]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 2


def test_a_wrong_setting_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLCLOCK_PORT", "many")
    assert main(["token", "list"]) == 1
    assert "WALLCLOCK_PORT" in capsys.readouterr().err
    monkeypatch.setenv("WALLCLOCK_PORT", "8000")
    monkeypatch.setenv("WALLCLOCK_DATABASE", "nonsense")
    assert main(["token", "list"]) == 1
    assert "WALLCLOCK_DATABASE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("WALLCLOCK_DATABSE", "x", "is not a setting; did you mean 'WALLCLOCK_DATABASE'?"),
        ("WALLCLOCK_LAB_QUEU", "3", "is not a setting; did you mean 'WALLCLOCK_LAB_QUEUE'?"),
        ("wallclock_slurm_node", "2", "is not a setting; did you mean 'WALLCLOCK_SLURM_NODES'?"),
        ("WALLCLOCK_SECRET", "a", "WALLCLOCK_SECRET: a secret needs at least 16 characters, not 1"),
    ],
)
def test_a_misspelled_setting_is_not_ignored(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(name, value)
    assert main(["token", "list"]) == 1
    told = capsys.readouterr().err
    assert says in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("name", ["uds", "slurm_site"])
def test_a_path_that_is_set_to_nothing_is_not_this_folder(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"WALLCLOCK_{name.upper()}", "")
    assert getattr(Settings(), name) is None


def test_every_setting_is_in_the_documentation() -> None:
    pages = (ROOT / "app" / "docs").glob("*.md")
    written = "".join(page.read_text(encoding="utf-8") for page in pages)
    names = [f"WALLCLOCK_{name.upper()}" for name in Settings.model_fields]
    assert [name for name in names if f"`{name}`" not in written] == []


def test_what_kubernetes_says_of_services_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SERVICE_HOST", "PORT_8000_TCP", "PORT_8000_TCP_ADDR", "DB_SERVICE_PORT_SQL"):
        monkeypatch.setenv(f"WALLCLOCK_{name}", "10.0.0.1")
    monkeypatch.setenv("WALLCLOCK_DB_PORT", "tcp://10.0.0.1:5432")
    monkeypatch.setenv("WALLCLOCK_PORT", "tcp://10.0.0.1:80")
    assert Settings().port == 8000


def test_a_token_is_shown_once_and_kept_as_a_digest(capsys: Capture, own_database: Path) -> None:
    assert main(["token", "create", "marie"]) == 0
    secret = capsys.readouterr().out.strip()
    assert secret.startswith("wc_")
    assert secret.encode() not in own_database.read_bytes()
    assert main(["token", "create", "marie"]) == 1
    assert "already" in capsys.readouterr().err
    assert main(["token", "revoke", "marie"]) == 0
    assert main(["token", "list"]) == 0
    listed = capsys.readouterr().out
    assert "marie" in listed
    assert "revoked" in listed
    assert secret not in listed


def test_the_schema_is_one_for_editors(capsys: Capture) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    numeric = schema["$defs"]["Numeric"]
    assert "id" not in numeric["properties"]
    assert "mistakes" in numeric["properties"]


def test_a_backup_is_whole_and_never_overwrites(capsys: Capture, tmp_path: Path, own_database: Path) -> None:
    main(["token", "create", "kept"])
    copy = tmp_path / "copy.db"
    assert main(["backup", str(copy)]) == 0
    with closing(sqlite3.connect(copy)) as found:
        assert found.execute("SELECT name FROM token").fetchall() == [("kept",)]
    assert main(["backup", str(copy)]) == 1
    assert "already exists" in capsys.readouterr().err
    assert [path.name for path in tmp_path.glob("*.partial")] == []


def test_lint_passes_a_chapter_and_names_what_is_wrong(capsys: Capture, tmp_path: Path) -> None:
    # `make check` proves the other chapters.
    assert main(["lint", str(ROOT / "exercises" / "collectives")]) == 0
    folder = ROOT / "exercises" / "collectives"
    own = [path for path in folder.glob("*.yaml") if "." not in path.stem and path.stem != "topic"]
    assert f"{len(own)} exercise files, no problems" in capsys.readouterr().err
    (tmp_path / "chapter").mkdir()
    (tmp_path / "chapter" / "a.yaml").write_text("kind: numeric\nlevel: 9\n")
    assert main(["lint", str(tmp_path / "chapter" / "a.yaml")]) == 1
    said = capsys.readouterr()
    assert re.search(r"a\.yaml:2: level:", said.out)
    assert "title: is missing" in said.out


def answers(file: Path, rows: Sequence[object]) -> Path:
    file.write_text("".join(f"{json.dumps(r) if isinstance(r, dict) else r}\n" for r in rows))
    return file


def test_grade_keeps_the_order_and_never_stops(capsys: Capture, tmp_path: Path) -> None:
    program = "def ring_allreduce_ms(s, n, b, a):\n    return 2*(n-1)*(s/n/b*1e3 + a/1e3)\n"
    rows = [
        {"exercise": RING, "seed": 0, "answer": "70 ms", "ref": "a"},
        "not json",
        {"exercise": "collectives/write-ring-time", "seed": 3, "answer": program, "ref": "f"},
        {"exercise": RING, "seed": 0, "answer": "soon"},
        {"exercise": "x/y", "answer": "1", "ref": 9},
        {"exercise": RING, "seed": 0, "answer": "35"},
    ]
    output = tmp_path / "out.jsonl"
    assert main(["grade", str(answers(tmp_path / "in.jsonl", rows)), "-o", str(output)]) == 1
    graded = [json.loads(line) for line in output.read_text().splitlines()]
    verdicts = [row.get("verdict", "error") for row in graded]
    assert verdicts == ["correct", "error", "correct", "unreadable", "error", "incorrect"]
    assert [row.get("ref") for row in graded] == ["a", None, "f", None, 9, None]
    said = capsys.readouterr().err
    assert "2 correct, 1 incorrect, 1 unreadable, 2 lines with an error" in said
    assert list(tmp_path.glob("*.partial")) == []


def test_grade_reads_a_pipe(capsys: Capture, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    row = json.dumps({"exercise": RING, "seed": 0, "answer": "70 ms"})
    writing = threading.Thread(target=(tmp_path / "pipe").write_text, args=(row,))
    writing.start()
    assert main(["grade", str(tmp_path / "pipe")]) == 0
    writing.join()
    assert json.loads(capsys.readouterr().out)["verdict"] == "correct"


def test_grade_skips_blank_lines_and_counts_them(capsys: Capture, tmp_path: Path) -> None:
    right = {"exercise": RING, "seed": 0, "answer": "70 ms"}
    file = answers(tmp_path / "in.jsonl", ["", right, "  ", right, "", "x"])
    assert main(["grade", str(file)]) == 1
    said = capsys.readouterr()
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [row.get("line", row.get("verdict")) for row in rows] == ["correct", "correct", 6]
    assert "expected" not in said.err


def test_grade_counts_where_another_verdict_was_expected(capsys: Capture, tmp_path: Path) -> None:
    right = {"exercise": RING, "seed": 0, "answer": "70 ms"}
    rows = [
        {**right, "expect": "correct", "says": ""},
        {**right, "answer": "35 ms", "expect": "incorrect", "says": "no such sentence"},
        right,
    ]
    assert main(["grade", str(answers(tmp_path / "in.jsonl", rows))]) == 0
    said = capsys.readouterr()
    graded = [json.loads(line) for line in said.out.splitlines()]
    assert [row.get("expect") for row in graded] == ["correct", "incorrect", None]
    assert "2 expected, 0 disagree" in said.err
    assert "1 as expected, but without the sentence" in said.err
    rows += [{**right, "expect": "incorrect"}, {**right, "answer": "soon", "expect": "incorrect"}]
    assert main(["grade", str(answers(tmp_path / "in.jsonl", rows))]) == 1
    assert "4 expected, 2 disagree (lines 4, 5)" in capsys.readouterr().err
    assert main(["grade", str(answers(tmp_path / "in.jsonl", [{**right, "expect": "maybe"}]))]) == 1


def test_answers_are_ready_to_be_graded(capsys: Capture, tmp_path: Path, catalog: Catalog) -> None:
    file = tmp_path / "answers.jsonl"
    names = [RING, "pipelines/fraction-line", "collectives/count-the-ring"]
    assert main(["answers", *names, "--seeds", "3..5", "-o", str(file)]) == 0
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert {(row["exercise"], row["seed"]) for row in rows} == {(name, seed) for name in names for seed in (3, 4, 5)}
    for name in names:
        exercise = catalog.exercise(name)
        for seed in (3, 4, 5):
            wrong = [(answer, says) for answer, says in exercise.mistakes(seed)]
            found = [row for row in rows if (row["exercise"], row["seed"]) == (name, seed)]
            assert found[0]["answer"] == exercise.right_answer(seed)
            assert [(row["answer"], row["says"]) for row in found[1:]] == wrong
            expected = ["correct", *["incorrect"] * len(wrong)]
            assert [row["expect"] for row in found] == expected
    assert main(["grade", str(file), "-o", str(tmp_path / "out.jsonl")]) == 0
    assert f"{len(rows)} expected, 0 disagree" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["collectives/ring-all-reduce-tim"], "did you mean 'collectives/ring-all-reduce-time'"),
        (["--seeds", "9..3"], "did you mean 3..9"),
        (["--seeds", "some"], "not a range; write it as 0..199"),
        (["--seeds=-1..4"], "not a range; write it as 0..199"),
        (["--seeds", "0..99999999999"], "not a range; write it as 0..199"),
        (["--seeds", f"0..{2**31}"], "the largest seed is 2147483647"),
        ([RING, "--seeds", "0", "-o", "/nowhere/answers.jsonl"], "cannot be written"),
    ],
)
def test_answers_that_cannot_be_written_say_why(capsys: Capture, arguments: list[str], says: str) -> None:
    assert main(["answers", *arguments]) == 1
    assert says in capsys.readouterr().err


def python(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "app", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False, env=env)


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -m app schema | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_a_closed_output_is_not_blamed_on_the_file_of_answers(tmp_path: Path) -> None:
    rows = tmp_path / "answers.jsonl"
    row = {"exercise": RING, "seed": 0, "answer": "70 ms"}
    rows.write_text(f"{json.dumps(row)}\n" * 2000, encoding="utf-8")
    command = f"{sys.executable} -m app grade {rows} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert '"correct"' in done.stdout
    assert "cannot be read" not in done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_formulas_start_without_the_web() -> None:
    code = (
        "import sys; from app.__main__ import main; main(['formula', "
        "'collectives.ring_all_reduce_steps', 'ranks=8']); "
        "print([m for m in ('fastapi', 'sqlalchemy', 'torch', 'wasmtime', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "14\n[]\n"


def test_every_command_that_is_listed_has_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^    (\w+)", capsys.readouterr().out, re.MULTILINE)
    assert {"serve", "class", "qti", "labs", "person", "schema", "move"} <= set(listed)
    for command in listed:
        with pytest.raises(SystemExit) as exit_of:
            main([command, "--help"])
        assert exit_of.value.code == 0, command
        assert f"usage: wallclock {command} " in capsys.readouterr().out


@each(("command", "modules"), [("", []), ("serve", ["serve"]), ("formula", ["formula"]), ("class", ["people"])])
def test_help_imports_the_named_command_alone(command: str, modules: list[str]) -> None:
    code = (
        "import sys; from app.__main__ import main\n"
        f"try: main({[*filter(None, [command]), '--help']})\n"
        "except SystemExit: print('|', *(m for m in sys.modules if m.startswith('app.commands.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = done.stdout.rpartition("|")[2].split()
    shared = {"app.commands.modules", "app.commands.files"}
    assert set(imported) - shared == {f"app.commands.{name}" for name in modules}


def test_the_app_needs_neither_torch_nor_a_browser() -> None:
    code = (
        "import sys, app.main; "
        "print([m for m in ('torch', 'playwright', 'wasmtime', 'componentize_py', 'numpy') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


FIRST_REQUESTS = """
import asyncio, json, sys
from app.commands.server import create_app

app = create_app()
async def receive(): return {"type": "http.request"}
async def status(method, path):
    found = []
    async def send(message): found.append(message.get("status"))
    path, _, query = path.partition("?")
    await app({"type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": [(b"host", b"localhost")]}, receive, send)
    return found[0]
async def statuses(): return [await status(*one) for one in json.load(sys.stdin)]
print(json.dumps([asyncio.run(statuses()), [*sys.modules]]))
"""
MOST_MODULES = 350  # of ours, with 3 % of room; of 570 that a server has in the end


def first_requests(folder: Path, *requests: tuple[str, str]) -> tuple[list[int], list[str]]:
    """The statuses of the first *requests* to a server that has just started, and the modules that it has then."""
    migrate(f"sqlite:///{folder / 'w.db'}")
    environment = {**os.environ, "WALLCLOCK_DATABASE": f"sqlite:///{folder / 'w.db'}"}
    command = [sys.executable, "-c", FIRST_REQUESTS]
    done = subprocess.run(
        command, env=environment, input=json.dumps(requests), capture_output=True, text=True, check=True
    )
    statuses, modules = json.loads(done.stdout)
    return statuses, modules


def test_the_first_page_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    """Each module takes a millisecond; a database of this version needs no Alembic."""
    unneeded = ("alembic", "mako", "pygments.lexers.web", "httpx2", "joserfc", "psycopg", "tqdm")
    statuses, modules = first_requests(tmp_path, ("GET", "/"))
    assert statuses == [200]
    assert not {*unneeded, "app.core.measurements.logs.settings", "app.classes.pages.classes"} & set(modules)
    assert len([name for name in modules if name.startswith("app.")]) <= MOST_MODULES


def test_every_page_answers_its_first_request(tmp_path: Path) -> None:
    others = {("DELETE", "/map"): 405, ("GET", "/nowhere"): 404, ("GET", "/map/"): 307, ("GET", "/api/v1/none"): 404}
    statuses, _ = first_requests(tmp_path, *others, ("HEAD", "/trust"), *(("GET", address) for address in EVERY))
    assert statuses[: len(others)] == [*others.values()]
    wrong = {page for page, status in zip(EVERY, statuses[-len(EVERY) :], strict=True) if status != 200}
    assert wrong == {PAGES["not found"]}


@contextmanager
def serve(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A server that is gone afterwards, however a test ends."""
    command = [sys.executable, "-m", "app", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def address(process: "subprocess.Popen[str]") -> str:
    assert process.stderr is not None
    found = re.search(r"http://\S+", process.stderr.readline())
    assert found
    return found[0]


def fetched(url: str) -> bytes:
    with urlopen(url, timeout=HANGS) as answer:
        return bytes(answer.read())


@each("workers", ["1", "2"])
def test_serve_serves_until_it_is_told_to_end(workers: str) -> None:
    with serve("--workers", workers) as process:
        url = address(process)
        assert b"Predict the training step" in fetched(url)
        if workers == "2":
            kill_one_of(process.pid)
            assert b"Predict the training step" in fetched(url)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HANGS) == (0 if workers == "2" else -signal.SIGTERM)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def kill_one_of(server: int) -> None:
    """Kill a worker process of *server*, and wait for its successor: a fork, which is soon there."""
    children = Path(f"/proc/{server}/task/{server}/children")
    before = children.read_text().split()
    assert len(before) == 2
    os.kill(int(before[0]), signal.SIGKILL)

    def has_successor() -> bool:
        after = children.read_text().split()
        return len(after) == 2 and before[0] not in after

    wait_until(has_successor)
    (new,) = set(children.read_text().split()) - set(before)
    assert Path(f"/proc/{new}/cmdline").read_bytes().endswith(b"--workers\x002\x00")


def test_the_file_of_a_unix_socket_goes_with_its_server(tmp_path: Path) -> None:
    path = tmp_path / "w.sock"
    with serve("--uds", str(path)) as process:
        assert process.stderr is not None
        assert f"unix:{path}" in process.stderr.readline()
        assert path.is_socket()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HANGS) == -signal.SIGTERM
        assert not path.exists()
        assert "Traceback" not in process.stderr.read()


def test_a_killed_server_leaves_no_worker_behind() -> None:
    with serve() as process:
        url = address(process)
        wait_until(lambda: b'"ready"' in fetched(f"{url}/healthz"))
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.kill()
        process.wait()
        wait_until(lambda: not any(map(is_running, children)))


def is_running(process: str) -> bool:
    """Whether it is there, and not only a dead one that nobody has asked about."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_port_in_use_is_told_in_one_line() -> None:
    with serve() as process:
        port = address(process).rpartition(":")[2]
        second = python("serve", "--port", port)
        process.kill()
    assert second.returncode == 1
    assert "cannot listen" in second.stderr
    assert len(second.stderr.splitlines()) == 1


def test_a_broken_catalog_is_told_before_serving(tmp_path: Path) -> None:
    (tmp_path / "more" / "chapter").mkdir(parents=True)
    (tmp_path / "more" / "chapter" / "bad.yaml").write_text("kind: numeric\nlevel: 9\n")
    environment = {**os.environ, "WALLCLOCK_EXERCISES": str(tmp_path / "more")}
    done = python("serve", "--port", "0", env=environment)
    assert done.returncode == 1
    assert "bad.yaml:2: level:" in done.stderr
    assert "topic.yaml" in done.stderr
    assert "Traceback" not in done.stderr
