"""A load on your own server: python -m tests.bench.visits URL TOKEN --learners 1000 --minutes 2

Of the learners, each tenth is there at once, sends an answer a minute and looks at three pages for each. The
token is for checking alone (`wallclock token create load`; revoke it afterwards): its answers are stored under it.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from json import dumps
from threading import Lock
from urllib.parse import urlsplit

_AT_ONCE = 0.1  # of the learners
_PAGES = ("/", "/exercises/collectives/ring-all-reduce-time?seed={}", "/explore/memory")  # for each answer
_THREADS = 64


@dataclass
class Tally:
    """How long each request took, and the statuses."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def note(self, seconds: float, status: str) -> None:
        """Count a request."""
        with self._lock:
            self.seconds.append(seconds)
            self.statuses[status] += 1


def visit(url: str, token: str, number: int, tally: Tally) -> None:
    """Three pages and an answer, on a connection of their own."""
    parts = urlsplit(url)
    connection = (HTTPSConnection if parts.scheme == "https" else HTTPConnection)(parts.netloc, timeout=60)
    answer = {"exercise": "collectives/ring-all-reduce-time", "seed": number % 1_000, "answer": "1 s"}
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    asked: list[tuple[str, str, str | None, dict[str, str]]]
    asked = [("GET", page.format(number % 1_000), None, {}) for page in _PAGES]
    asked.append(("POST", "/api/v1/check", dumps(answer), head))
    for method, path, body, headers in asked:
        begun = time.perf_counter()
        try:
            connection.request(method, parts.path.rstrip("/") + path, body, headers)
            reply = connection.getresponse()
            reply.read()
            status = str(reply.status)
        except (OSError, HTTPException) as error:
            connection.close()
            status = type(error).__name__
        tally.note(time.perf_counter() - begun, status)
    connection.close()


def main(arguments: list[str]) -> int:
    """Print the rate, the times and the statuses; 1 if anything but 200 came."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.visits")
    parser.add_argument("url")
    parser.add_argument("token")
    parser.add_argument("--learners", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=1.0)
    given = parser.parse_args(arguments)
    pause = 60 / max(1.0, _AT_ONCE * given.learners)
    tally, begun, number = Tally(), time.monotonic(), 0
    with ThreadPoolExecutor(_THREADS) as pool:
        while (due := begun + number * pause) < begun + 60 * given.minutes:
            time.sleep(max(0.0, due - time.monotonic()))
            pool.submit(visit, given.url, given.token, number, tally)
            number += 1
    took, ordered = time.monotonic() - begun, sorted(tally.seconds)
    half, most = ordered[len(ordered) // 2], ordered[int(0.99 * (len(ordered) - 1))]
    sys.stdout.write(
        f"{len(ordered):,} requests, {len(ordered) / took:.1f}/s of {4 / pause:.1f}/s; "
        f"median {1e3 * half:.0f} ms, p99 {1e3 * most:.0f} ms; {dict(tally.statuses)}\n"
    )
    return 0 if set(tally.statuses) == {"200"} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
