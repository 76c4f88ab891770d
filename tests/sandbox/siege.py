"""All attacks against one runner, and what must hold after every one of them.

    python -m tests.sandbox.siege CACHE

prints each rule that was broken.
"""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

from app.config import Settings
from app.errors import AnswerError
from app.sandbox.report import Report, Returned
from app.sandbox.runner import Runner

ATTACKS = Path(__file__).parent / "attacks"
INPUTS, EXPECTED = (1, 7, 40), (913377, 271829, 606842)  # a table: nobody can know it
HONEST = f"def solve(x):\n    return {dict(zip(INPUTS, EXPECTED, strict=True))}[x]\n"
CANARY = "canary-6b1f0c"
WALL = 0.3
FOLDERS = (Path("/tmp"), Path("/dev/shm"), Path.cwd())


def attacks() -> Mapping[str, str]:
    """The hostile programs, by name."""
    sources = {
        f.stem: f.read_bytes().decode("utf-8", "surrogateescape") for f in ATTACKS.glob("*.py")
    }
    return sources | {
        "83_source_long": "# " + "A" * 1_000_000,
        "b1_many_lines": "\n" * 70_000,
        "b2_many_parentheses": "x = " + "(" * 30_000 + ")" * 30_000,
        "b3_many_names": "\n".join(f"x{n} = {n}" for n in range(5_000)),
        "b4_long_expression": "x = " + "+".join("1" * 15_000),
    }


async def besiege(runner: Runner) -> list[str]:
    """Every rule that an attack broke."""
    os.environ["CANARY_ENV"] = CANARY
    broken: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        for name, source in sorted(attacks().items()):
            broken += [f"{name}: {says[:200]}" async for says in _attack(runner, source, listener)]
    return broken


async def _attack(runner: Runner, source: str, listener: socket.socket) -> AsyncIterator[str]:
    before, started = _processes(), time.perf_counter()
    for says in await _replied(runner, source):
        yield says
    took = time.perf_counter() - started
    if took > WALL + 1.2:
        yield f"took {took:.2f} s"
    if written := [p for folder in FOLDERS if folder.is_dir() for p in folder.glob("pwned*")]:
        yield f"wrote {written}"
    if _connected(listener):
        yield "connected to a port of this machine"
    async for says in _next_learner(runner):
        yield says
    if _processes() > before:
        yield "left a process behind"


async def _replied(runner: Runner, source: str) -> list[str]:
    try:
        report = await runner.run(source, "solve", [(x,) for x in INPUTS], "attacker")
    except AnswerError:
        return []
    return list(_revealed(report))


def _revealed(report: Report) -> Iterator[str]:
    values = [o.value for o in report.outcomes if isinstance(o, Returned)]
    if len(values) == len(EXPECTED) and all(
        type(v) in (int, float) and v == e for v, e in zip(values, EXPECTED, strict=True)
    ):
        yield "passed"
    text = repr(report)
    if len(text.encode()) > 400_000:  # encode() itself refuses lone surrogates
        yield "replied with too much"
    for secret in (CANARY, "root:x:", "271829", "606842"):
        if secret in text:
            yield f"replied with the secret {secret}"


async def _next_learner(runner: Runner) -> AsyncIterator[str]:
    started = time.perf_counter()
    report = await runner.run(HONEST, "solve", [(x,) for x in INPUTS], "honest")
    took = time.perf_counter() - started
    if [o.value for o in report.outcomes if isinstance(o, Returned)] != list(EXPECTED):
        yield f"broke the next learner: {report}"
    if took > 0.5:
        yield f"delayed the next learner by {took:.2f} s"


def _connected(listener: socket.socket) -> bool:
    try:
        listener.accept()
    except BlockingIOError:
        return False
    return True


def _processes() -> int:
    """Processes that this one started."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return len(children.read_text().split()) if children.exists() else 0


async def main(cache: Path) -> int:
    runner = Runner(Settings(cache=cache, sandbox_workers=2, sandbox_wall=WALL))
    await runner.start()
    health = await runner.ready()
    broken = [health.says] if health.state != "ready" else await besiege(runner)
    await runner.close()
    for says in broken:
        sys.stdout.write(f"{says}\n")
    sys.stdout.write(f"uid {os.geteuid()}: {len(attacks())} attacks\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
