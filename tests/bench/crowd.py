"""A thousand students on several servers and one PostgreSQL, while processes are killed.

    python -m tests.bench.crowd --students 1000 --seconds 60 --kill-every 5

Each student sends answers to exercises of numbers, and now and then a program, each time to any of
the servers, as through a load balancer; one that is refused is sent again. In the end, every answer whose
verdict has arrived must be in the database, and every verdict must have been the right one. Exits
with 1 otherwise, or if a figure misses its goal.
"""

import argparse
import asyncio
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import create_server
from urllib.parse import parse_qs, urlsplit

from sqlalchemy import select
from sqlmodel import col

from app.core.folders import ROOT
from app.core.yaml_file import read_document
from app.course.content.catalog import Catalog
from app.server.db.learner_cookie import signing_secret, unsign
from app.server.db.session import connect
from app.server.db.tables import AttemptRow
from tests.bench.figures import Figure, row
from tests.bench.student import NUMBERS, PROGRAM, SEEDS, Balancer, Outcome, Student
from tests.db.postgresql import cluster


@dataclass(slots=True)
class Server:
    """A server that is started again whenever it has died."""

    port: int
    arguments: Sequence[str]
    environment: Mapping[str, str]
    process: "subprocess.Popen[bytes] | None" = None
    starts: int = 0

    def start(self) -> None:
        """Start it, unless it runs."""
        if self.process is None or self.process.poll() is not None:
            command = [sys.executable, "-m", "app", "serve", "--port", str(self.port)]
            self.process = subprocess.Popen(
                [*command, *self.arguments], env=self.environment, stderr=subprocess.DEVNULL
            )
            self.starts += 1

    def stop(self) -> None:
        """Stop it as an operator would."""
        if self.process:
            self.process.terminate()
            self.process.wait()


async def crowd(arguments: argparse.Namespace, servers: Sequence[Server], data: Path) -> Outcome:
    """Everything at once: students, whoever starts servers again, and whoever kills them."""
    outcome, ports = Outcome(), [server.port for server in servers]
    balancer = Balancer(ports)
    tending = asyncio.create_task(_tend(servers))
    await _until_ready(ports)
    end = time.monotonic() + arguments.seconds
    killed: Counter[str] = Counter()
    killing = asyncio.create_task(_kill(arguments.kill_every, servers, data, killed))
    pause = arguments.students / arguments.rate
    share, rights = arguments.programs / arguments.rate, _right_answers()
    students = [Student(number, balancer, outcome) for number in range(arguments.students)]
    await asyncio.gather(*(one.work(rights, pause, share, end) for one in students))
    for task in (killing, tending):
        task.cancel()
    sys.stdout.write(
        f"killed: {dict(killed)}; starts: {[one.starts for one in servers]}; "
        f"connections passed on to the other server: {balancer.passed_on}\n"
    )
    return outcome


def _right_answers() -> list[str]:
    """The right answer at each seed, and in the end the right program."""
    exercise = Catalog.read([ROOT / "exercises"]).exercise(NUMBERS)
    file = ROOT / "exercises" / f"{PROGRAM}.yaml"
    program = str(read_document(file).values["right"])
    return [*(str(exercise.right_answer(seed)) for seed in range(SEEDS)), program]


async def _tend(servers: Sequence[Server]) -> None:
    while True:
        for server in servers:
            server.start()
        await asyncio.sleep(0.1)


async def _until_ready(ports: Sequence[int]) -> None:
    for port in ports:
        ready = b""
        while b'"ready"' not in ready:
            await asyncio.sleep(0.1)
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            ready = await reader.read()
            writer.close()


async def _kill(every: float, servers: Sequence[Server], data: Path, killed: Counter[str]) -> None:
    """Kill any process of a server, or one that PostgreSQL runs for it, again and again."""
    chance = random.Random(5)
    while every:
        await asyncio.sleep(every)
        postmaster = int((data / "postmaster.pid").read_text().split()[0])
        targets = [("postgres", one) for one in _below(postmaster)]
        for server in servers:
            if server.process:
                targets.append(("server", server.process.pid))
                targets += [(_kind(one), one) for one in _below(server.process.pid)]
        kind = chance.choice(sorted({kind for kind, _ in targets}))
        process = chance.choice([one for name, one in targets if name == kind])
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
        killed[kind] += 1


def _kind(process: int) -> str:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        words = b""
    return "sandbox" if b"/sandbox/" in words else "process of a server"


def _below(process: int) -> Iterator[int]:
    """The processes that *process* has started, and those that these have."""
    try:
        found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return
    for child in map(int, found):
        yield child
        yield from _below(child)


def lost(outcome: Outcome, database: str) -> int:
    """How many answers are not stored although their verdict has arrived."""
    engine = connect(database)
    secret = signing_secret(engine)
    told = Counter((unsign(cookie, secret) or "?", answer) for cookie, answer in outcome.told)
    with engine.connect() as connection:
        found = connection.execute(select(col(AttemptRow.learner), col(AttemptRow.answer)))
        stored = Counter((learner, answer) for learner, answer in found)
    engine.dispose()
    return (told - stored).total()


def figures(outcome: Outcome, missing: int) -> Iterator[Figure]:
    """What the issue asks for."""
    refused = outcome.refused.total()
    yield Figure("answers with a verdict", outcome.count, "", None, "higher")
    yield Figure("errors", len(outcome.errors), "", 0, "lower")
    yield Figure("answers lost", missing, "", 0, "lower")
    yield Figure("wrong verdicts", len(outcome.wrong), "", 0, "lower")
    share = 100 * refused / max(1, refused + outcome.count)
    yield Figure("requests refused, and sent again", share, "%", 1, "lower")
    for name, path, goal in (("numeric", NUMBERS, 300), ("function", PROGRAM, 3000)):
        ordered = sorted(outcome.seconds[path]) or [0.0]
        for quantile in (0.5, 0.95, 0.99):
            value = 1e3 * ordered[int(quantile * (len(ordered) - 1))]
            wanted = goal if quantile == 0.95 else None
            yield Figure(f"{name}, p{100 * quantile:g}", value, "ms", wanted, "lower")


def main() -> int:
    """Print a row a figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=80, help="answers a second, of everyone")
    parser.add_argument("--programs", type=float, default=20, help="of them, programs a second")
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1, help="processes of each server")
    parser.add_argument("--kill-every", type=float, default=0, help="seconds; 0: never")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))  # stops the servers, too
    with tempfile.TemporaryDirectory() as folder, cluster() as database:
        data = Path(parse_qs(urlsplit(database).query)["host"][0]) / "data"
        environment = {
            **os.environ,
            "WALLCLOCK_DATABASE": database,
            "WALLCLOCK_RUNS": str(Path(folder) / "runs"),
            "WALLCLOCK_ANSWERS_ALLOWED": "0",  # everyone has one address here
            "WALLCLOCK_PROCESSOR_ALLOWED": "0",
        }
        servers = [
            Server(_free_port(), ["--workers", str(arguments.workers)], environment) for _ in range(arguments.servers)
        ]
        try:
            outcome = asyncio.run(crowd(arguments, servers, data))
        finally:
            for server in servers:
                server.stop()
        found = list(figures(outcome, lost(outcome, database)))
    for figure in found:
        sys.stdout.write(row(figure))
    for says in (*outcome.wrong[:5], *outcome.errors[:5], str(dict(outcome.refused))):
        sys.stdout.write(f"{says}\n")
    _print_cost(outcome)
    return 0 if all(figure.met for figure in found) else 1


def _print_cost(outcome: Outcome) -> None:
    for name, who in (("servers", resource.RUSAGE_CHILDREN), ("students", resource.RUSAGE_SELF)):
        used = resource.getrusage(who)
        each = 1e3 * (used.ru_utime + used.ru_stime) / max(1, outcome.count)
        sys.stdout.write(f"{name}: {each:.1f} ms of processor time an answer, starts included\n")


def _free_port() -> int:
    with create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
