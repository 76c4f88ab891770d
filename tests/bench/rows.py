"""What Wallclock costs at its doors, HTTP and the command line, in processor time.

An earlier version has the same doors, so `tests.bench.against` measures the same rows of it. The bench
compares each row with a peer: a work of the same kind that is none of ours, measured in the same run.
"""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.request import urlopen

from app.core.folders import ROOT
from app.core.measurements.published import text_of
from app.core.yaml_file import read_document
from tests.bench.figures import loop_seconds
from tests.bench.load import Running, bound_to_us, request, send, server
from tests.bench.made_trace import write_trace
from tests.measurements.printing import rows as test_rows

_RING = "collectives/ring-all-reduce-time"
_CONNECTIONS, _OF_PAGES = 16, 1
_SECONDS = 0.8  # of a load
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: orphans of our children become ours
_EVENTS, _STEPS, _SIZES, _LAYOUTS = 40_000, 2_000, 5_000, 2_000


@dataclass
class Version:
    """A version of Wallclock in *root*, and its files in *folder*; its servers run until it is left."""

    root: Path
    folder: Path
    servers: dict[str, Running] = field(default_factory=dict)

    def run(self, *arguments: str) -> float:
        """Seconds of processor time of a command, with all that it starts."""
        return self._python("-m", "app", *arguments)

    def import_of(self, names: str) -> float:
        """Seconds of processor time of a process that imports *names*."""
        return self._python("-c", f"import {names}")

    def _python(self, *arguments: str) -> float:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        before = _children()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**environment, "WALLCLOCK_DATABASE": f"sqlite:///{self.folder / 'commands.db'}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=bound_to_us,
        )
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):  # 1: an answer is wrong, as it is meant to be
            raise RuntimeError(f"{' '.join(arguments)} in {self.root} exits with {process.returncode}")
        seconds = used.ru_utime + used.ru_stime
        # What reads files of strangers is a process of its own, which ends after the command: it comes to us.
        while orphans := _children() - before:
            for pid in orphans:
                _, _, used = os.wait4(pid, 0)
                seconds += used.ru_utime + used.ru_stime
        return seconds


def _children() -> set[int]:
    """The processes that this one has to wait for, on Linux."""
    return {int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}


class Measured(Protocol):
    """Seconds of processor time, of a version or of a peer beside it."""

    def __call__(self, version: Version) -> float: ...


@dataclass(frozen=True)
class Row:
    """A row: its *cost* may be at most *most* times that of its *peer*."""

    name: str
    cost: Measured
    peer: str
    most: float


def load_on(
    name: str, requests: Callable[[Running], Sequence[bytes]], expected: bytes, connections: int = _CONNECTIONS
) -> Measured:
    """What each of *requests* costs the server that is called *name*."""

    def cost(version: Version) -> float:
        running, answered = version.servers[name], 0
        begun = running.busy()
        while not answered:  # a first request may take longer than a load
            answered = len(send(running, requests(running), expected, connections, _SECONDS).seconds)
        return (running.busy() - begun) / answered

    return cost


def page(*paths: str) -> Callable[[Running], Sequence[bytes]]:
    """What a browser asks for, in turn."""
    head = "GET {} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\n\r\n"
    return lambda _: [head.format(path).encode() for path in paths]


def checks(running: Running) -> Sequence[bytes]:
    """A wrong answer to each of 50 drawings, as a program sends it."""
    bodies = (json.dumps({"exercise": _RING, "seed": seed, "answer": "1 s"}).encode() for seed in range(50))
    return [request(running, "POST", "/api/v1/check", body) for body in bodies]


def _page_row(name: str, most: float, *paths: str) -> Row:
    return Row(name, load_on("ours", page(*paths), b" 200 OK", _OF_PAGES), "bare endpoint", most)


def _command(*arguments: str) -> Measured:
    return lambda version: version.run(*(one.format(version.folder) for one in arguments))


def _each(count: int, *arguments: str, start: tuple[str, ...]) -> Measured:
    """What each of *count* things costs a command, without its *start*, which is that of a file of one."""
    whole, alone = _command(*arguments), _command(*start)
    return lambda version: max(1e-9, (whole(version) - alone(version)) / count)


def _to_first_page(version: Version) -> float:
    """The processor time until a server has sent its first page."""
    with server(version.folder, "start", version.root, ready="at once") as running:
        assert b"Wallclock" in urlopen(f"http://127.0.0.1:{running.port}/").read()
        return running.busy()


def _grade_row(name: str, most: float, per: int) -> Row:
    start = ("grade", "{}/one.jsonl", "-o", "{}/out.jsonl", "--processes", "1")
    whole = ("grade", f"{{}}/{name}.jsonl", "-o", "{}/out.jsonl", "--processes", "1")
    return Row(f"grade {per} {name}, each", _each(per, *whole, start=start), "loop of Python", most)


_ANSWERS = {  # of each kind: how many, and the exercise
    "numbers": (1_000, _RING),
    "choices": (10_000, "accumulation/is-it-the-same"),
    "programs": (100, "collectives/write-ring-time"),
}
_ONE = ("measured", "{}/one.log")
ROWS = (
    Row("kept check", load_on("ours", checks, b'"incorrect"'), "bare endpoint", 2),
    _page_row("/livez", 1.6, "/livez"),
    _page_row("page of an exercise", 10, f"/exercises/{_RING}?seed=3"),
    _page_row("page of an exercise, new drawings", 14, *(f"/exercises/{_RING}?seed={n}" for n in range(400))),
    _page_row("page of an explorer", 10, "/explore/memory"),
    _page_row("home page", 45, "/"),
    _page_row("search page", 16, "/search?q=ring"),
    _page_row("formulas", 30, "/formulas"),
    _page_row("trust", 55, "/trust"),
    _page_row("explorer of 16 × 64, the same numbers", 150, "/explore/pipeline?stages=16&microbatches=64"),
    _page_row(
        "explorer of 16 × 64, new numbers",
        260,
        *(f"/explore/pipeline?stages=16&microbatches=64&forward={10 + n / 10}" for n in range(200)),
    ),
    Row("start to first page", _to_first_page, "import of its libraries", 2),
    Row("wallclock --help", _command("--help"), "import of argparse, json, decimal", 3),
    Row("wallclock formula", _command("formula"), "import of argparse, json, decimal", 7),
    Row("grade, one line", _command("grade", "{}/one.jsonl", "-o", "{}/out.jsonl"), "import of its libraries", 2.5),
    Row("lint, one file", _command("lint", f"exercises/{_RING}.yaml"), "import of its libraries", 4.5),
    _grade_row("numbers", 0.12, 1_000),
    _grade_row("choices", 0.06, 10_000),
    _grade_row("programs", 0.6, 100),
    Row(
        f"predict {_LAYOUTS:,} lines, each",
        _each(
            _LAYOUTS,
            "predict",
            "{}/many.layouts",
            "-o",
            "{}/out.jsonl",
            start=("predict", "{}/one.layouts", "-o", "{}/out.jsonl"),
        ),
        "loop of Python",
        0.06,
    ),
    Row(
        "search of GPT-3 on 1,024 GPUs",
        _command("search", "--model", "GPT-3 175B", "--cluster", "DGX-A100 gpus=1024", "--batch", "1536"),
        "import of its libraries",
        3,
    ),
    Row("log, each step", _each(_STEPS, "measured", "{}/many.log", start=_ONE), "loop of Python", 0.01),
    Row("nccl-tests, each row", _each(_SIZES, "measured", "{}/nccl", start=_ONE), "loop of Python", 0.003),
    Row("trace of 40,000 events", _each(1, "measured", "{}/trace.json", start=_ONE), "json.loads of the same", 2),
)


def _bare(version: Version) -> float:
    return load_on("bare", checks, b'"incorrect"')(version)


def _json(version: Version) -> float:
    text = (version.folder / "trace.json").read_bytes()
    begin = time.process_time()
    json.loads(text)
    return time.process_time() - begin


PEERS: Mapping[str, Measured] = {
    "bare endpoint": _bare,
    "loop of Python": lambda _: loop_seconds(),
    "json.loads of the same": _json,
    "import of its libraries": lambda version: version.import_of("fastapi, sqlmodel, jinja2, yaml, numpy, uvicorn"),
    "import of argparse, json, decimal": lambda version: version.import_of("argparse, json, decimal"),
}


@contextmanager
def prepared(root: Path, folder: Path, rows: Sequence[Row]) -> Iterator[Version]:
    """A version with the files and the servers that *rows* need."""
    version = Version(root, folder)
    _write_files(folder)
    names = {row.peer for row in rows}
    if "bare endpoint" not in names:
        yield version
        return
    with server(folder, "ours", root, ready="pages") as ours, server(folder, "bare", root) as bare:
        version.servers = {"ours": ours, "bare": bare}
        for row in rows:
            if row.peer == "bare endpoint":
                row.cost(version)  # the first time is another one
        yield version


def _write_files(folder: Path) -> None:
    sizes = [(n + 1) << 18 for n in range(_SIZES)]
    (folder / "nccl").write_text("\n".join(test_rows("all_reduce", 16, middle="  sum  -1 ", sizes=sizes)))
    line = text_of("megatron-mixtral-16-h100").splitlines()[3]
    log = [re.sub(r"iteration +\d+", f"iteration {n}", line) for n in range(_STEPS)]
    (folder / "many.log").write_text("\n".join(log))
    (folder / "one.log").write_text("\n".join(log[:3]))
    write_trace(folder / "trace.json", _EVENTS)
    layouts = [json.dumps(_layout(number)) for number in range(_LAYOUTS)]
    (folder / "many.layouts").write_text("\n".join(layouts))
    (folder / "one.layouts").write_text(layouts[0])
    for name, (count, exercise) in _ANSWERS.items():
        lines = [json.dumps({"exercise": exercise, "seed": n, "answer": _answer(name, n)}) for n in range(count)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    (folder / "one.jsonl").write_text(json.dumps({"exercise": _RING, "seed": 0, "answer": "1 s"}))


def _layout(number: int) -> dict[str, object]:
    tensor, pipeline, rounds = 2 ** (number % 4), 2 ** (number // 4 % 4), 1 + number // 16
    layout = f"tensor={tensor} pipeline={pipeline} data=4 microbatches={8 * rounds}"
    cluster = f"64 H100 gpus={4 * tensor * pipeline} gpus_per_node=2"
    return {"ref": number, "model": "Llama-3.1-8B", "cluster": cluster, "layout": layout}


def _answer(name: str, number: int) -> object:
    if name == "programs":
        return read_document(ROOT / "exercises" / "collectives" / "write-ring-time.yaml").values["right"]
    return f"{number + 1} s" if name == "numbers" else ["if-equal", "always"][number % 2]


@dataclass(frozen=True)
class Ratio:
    """A row that was measured: its seconds, those of its peer, and how many times as much it is."""

    row: Row
    seconds: float
    peer: float

    @property
    def times(self) -> float:
        """The cost in peers."""
        return self.seconds / self.peer


def ratio_of(row: Row, version: Version, turns: int = 3) -> Ratio:
    """*row* beside its peer, in turn, so that whatever else the machine does meets both."""
    both = [(PEERS[row.peer](version), row.cost(version)) for _ in range(turns)]
    return Ratio(row, min(own for _, own in both), min(peer for peer, _ in both))  # what is least disturbed


def chosen(patterns: Sequence[str]) -> tuple[Row, ...]:
    """The rows whose names have one of *patterns* in them; all without any."""
    return tuple(row for row in ROWS if not patterns or any(one.lower() in row.name.lower() for one in patterns))


def shown(seconds: float) -> str:
    """*seconds* as a person reads them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
