"""What a check costs beside an earlier version: python -m tests.bench.against COMMIT

Both versions serve at once, and are loaded in turn: whatever else the machine does meets both. What
is compared is the processor time of the servers.
"""

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from app.core.folders import ROOT
from tests.bench.__main__ import row
from tests.bench.figures import Figure
from tests.bench.load import Running, form, request, send, server

_EXERCISE = "collectives/ring-all-reduce-time"
_SECONDS = 1.5
_TURNS = 7
_CONNECTIONS = 16
_MOST = 110.0  # percent of the earlier cost
_LEARNERS = 32
_COOKIE = re.compile(rb"set-cookie: (learner=[^;]+)", re.IGNORECASE)


def measure(commit: str) -> Iterator[Figure]:
    """The cost of a check by API and by page, of this version and of *commit*."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        roots = {"before": _unpacked(commit, folder / "before"), "now": ROOT}
        servers = {
            name: stack.enter_context(server(folder, name, root, WALLCLOCK_ANSWERS_ALLOWED="0"))
            for name, root in roots.items()
        }
        yield from _compared("check by API", servers, _by_api, b'"incorrect"')
        yield from _compared("check by page", servers, _by_page, b"Not yet")


def _compared(
    what: str, servers: Mapping[str, Running], made: Callable[[Running], Sequence[bytes]], expected: bytes
) -> Iterator[Figure]:
    costs: dict[str, list[float]] = {name: [] for name in servers}
    requests = {name: made(running) for name, running in servers.items()}
    for turn in range(_TURNS + 1):
        for name, running in servers.items():
            begun = running.busy()
            load = send(running, requests[name], expected, _CONNECTIONS, _SECONDS)
            if turn:  # the first one warms up
                costs[name].append((running.busy() - begun) / len(load.seconds))
    before, now = median(costs["before"]), median(costs["now"])
    yield Figure(f"{what}, before", 1e3 * before, "ms")
    yield Figure(f"{what}, now", 1e3 * now, "ms")
    ratios = [mine / theirs for mine, theirs in zip(costs["now"], costs["before"], strict=True)]
    yield Figure(f"{what}, now to before", 100 * median(ratios), "%", _MOST, "lower")


def _by_api(running: Running) -> Sequence[bytes]:
    asked = {"exercise": _EXERCISE, "answer": "1 s"}
    bodies = [json.dumps({**asked, "seed": seed}).encode() for seed in range(_LEARNERS)]
    return [request(running, "POST", "/api/v1/check", body) for body in bodies]


def _by_page(running: Running) -> Sequence[bytes]:
    path = f"/exercises/{_EXERCISE}?seed="
    cookies = [asyncio.run(_cookie(running, f"{path}{seed}")) for seed in range(_LEARNERS)]
    return [form(f"{path}{seed}", cookie, b"answer=1+s") for seed, cookie in enumerate(cookies)]


async def _cookie(running: Running, path: str) -> str:
    """The cookie of a new learner."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(form(path, "theme=light", b"answer=1+s"))
    found = _COOKIE.search(await reader.readuntil(b"\r\n\r\n"))
    writer.close()
    return found[1].decode() if found else ""


def _unpacked(commit: str, folder: Path) -> Path:
    folder.mkdir()
    with subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", str(folder)], stdin=archive.stdout, check=True)
    return folder


def main(commit: str) -> int:
    """Print a row a figure; 1 if a check costs more than it may."""
    missed = 0
    for figure in measure(commit):
        sys.stdout.write(row(figure))
        sys.stdout.flush()
        missed += not figure.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
