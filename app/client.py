"""Check answers from a notebook or another grader: on a server of Wallclock, or offline.

    from app.client import check

    check("collectives/ring-all-reduce-time", "70 ms", seed=7, server="http://localhost:8000")

With `server`, only Python's standard library is imported. Without one, the answer is graded in this
process, by the course that is installed here.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

if TYPE_CHECKING:
    from app.course.content.catalog import Catalog

_TRIES = 5  # of a server that says when to come back
_PAUSE = 30.0  # seconds at most between two of them


class CheckError(Exception):
    """An answer that could not be graded, and why."""


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """The verdict on an answer: `correct`, `incorrect` or `unreadable`, with a score from 0 to 1."""

    verdict: str
    score: float
    feedback: Sequence[str]  # in Markdown

    def __bool__(self) -> bool:
        """Whether the answer is right, as in `assert check(...)`."""
        return self.verdict == "correct"

    def _repr_markdown_(self) -> str:
        """What a notebook shows."""
        head = {"correct": "**Right.**", "incorrect": "**Not right.**"}.get(self.verdict, "**Not graded.**")
        return "\n\n".join([head, *self.feedback])


def check(
    exercise: str,
    answer: str | float | Sequence[str] | Mapping[str, str | float],
    *,
    seed: int = 0,
    server: str = "",
    token: str = "",
    timeout: float = 30.0,
) -> CheckedAnswer:
    """The verdict on an answer to an exercise as *seed* draws it.

    Args:
        exercise: its id, such as `"collectives/ring-all-reduce-time"`.
        answer: what a learner would type or send, as in the JSON of `POST /api/v1/check`.
        seed: which drawing of the exercise.
        server: the address of a server; without one, the answer is graded in this process.
        token: a token of that server, if it asks for one.
        timeout: seconds that each request to the server may take.

    Raises:
        CheckError: there is no such exercise, or the server cannot be reached or refuses.
    """
    sent = {"exercise": exercise, "seed": seed, "answer": answer}
    row = _asked(sent, server.rstrip("/"), token, timeout) if server else _graded_here(sent)
    if "error" in row:
        raise CheckError(row["error"])
    return CheckedAnswer(row["verdict"], row["score"], tuple(row["feedback"]))


def _asked(sent: Mapping[str, object], server: str, token: str, timeout: float) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = Request(f"{server}/api/v1/check", json.dumps(sent).encode(), headers)
    for left in reversed(range(_TRIES)):
        try:
            with urlopen(request, timeout=timeout) as response:
                return dict(json.load(response))
        except HTTPError as error:
            wait = error.headers.get("Retry-After", "")
            if left and error.code in (429, 503) and wait.isdigit():
                time.sleep(min(float(wait), _PAUSE))
                continue
            raise CheckError(_detail(error)) from None
        except (URLError, OSError, ValueError) as error:
            raise CheckError(f"{server} does not answer as a server of Wallclock: {error}") from None
    raise AssertionError("the last try returns or raises")


def _detail(error: HTTPError) -> str:
    """What a server says about an error, as a problem document (RFC 9457)."""
    try:
        found = json.loads(error.read())
    except ValueError:
        found = None
    says = found.get("detail") if isinstance(found, dict) else None
    return str(says or f"{error.code} {error.reason}")


def _graded_here(sent: Mapping[str, object]) -> dict[str, Any]:
    from concurrent.futures import ThreadPoolExecutor  # an event loop may run here, as in a notebook

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_grade, json.dumps(sent).encode()).result()


@cache
def _course() -> "Catalog":
    from app.course.content.course import read_course
    from app.server.config import Settings

    return read_course(Settings())


def _grade(line: bytes) -> dict[str, Any]:
    import asyncio

    from app.server.config import Settings
    from app.site.grading.offline import FileGrader, VerdictTally

    async def row() -> bytes:
        grader = FileGrader(_course(), Settings())
        try:
            return [found async for found in grader.grade([(1, line)], VerdictTally())][0]
        finally:
            await grader.close()

    return dict(json.loads(asyncio.run(row())))
