"""In place of the way into a server's sandbox, in a browser: a worker runs the program.

The program is on its author's own machine; the worker is there so that an endless loop can be stopped.
"""

import json
from collections.abc import Awaitable, Callable, Sequence

from app.course.sandbox.pool import SandboxHealth
from app.course.sandbox.process import Execution, Plain, execution_of, request_of
from app.server.aside.fair_queue import Client

Ask = Callable[[str], Awaitable[str]]  # a request as JSON to the worker's answer as JSON


class Runner:
    """Runs programs by way of *ask*."""

    health = SandboxHealth()

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def on_behalf_of(self, _: Client) -> "Runner":
        """The same runner."""
        return self

    async def run(self, source: str, entry: str, calls: Sequence[Sequence[Plain]], learner: str = "") -> Execution:
        """Run *source*, then call its function *entry* with each of *calls*.

        Raises:
            AnswerError: *source* is too long, or not valid Unicode.
        """
        answer = await self._ask(json.dumps(request_of(source, entry, calls)))
        return execution_of(json.loads(answer), len(calls))
