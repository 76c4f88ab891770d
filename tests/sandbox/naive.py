"""How not to build a grader: learner code, inputs and answers in one process.

    python -m tests.sandbox.naive ATTACK

It is the control of the siege: an attack suite that this survives proves nothing. Only attacks
that do no harm are tried on it, with limits, in a process of their own.
"""

import asyncio
import io
import resource
import sys
from collections.abc import Sequence
from typing import cast

from app.course.sandbox.process import CallReturned, Execution, Plain
from app.course.sandbox.runner import Runner
from tests.sandbox import siege

# Attack: what the siege says of it, or what the dying grader does.
HARMLESS = {
    "plain/33_read_passwd": "replied with the secret root:x:",
    "plain/35_environ": "replied with the secret canary",
    "plain/48_equal_everything": ": passed",
    "plain/65_subclass_number": ": passed",
    "plain/82_patch_compile": "Error",
    "plain/84_modules_poison": "Error",
}


class Naive:
    """Has the one method of a runner that the siege uses."""

    async def run(self, source: str, entry: str, calls: Sequence[Sequence[Plain]], learner: str = "") -> Execution:
        """The verdict as the learner's own objects give it."""
        space: dict[str, object] = {"expected": siege.EXPECTED}
        try:
            exec(source, space)
            function = space[entry]
            assert callable(function)
            values = [function(*arguments) for arguments in calls]
            outcomes = [
                CallReturned(expected if value == expected else repr(value))
                for value, expected in zip(values, siege.EXPECTED, strict=True)
            ]
        except Exception as error:  # noqa: BLE001 - a learner may raise anything
            outcomes = [CallReturned(repr(error))]
        return Execution(None, "", tuple(outcomes), 0.0)


def main(name: str) -> None:
    """Say how the attack *name* got through; dying of it counts."""
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    source, write = siege.attacks()[name], sys.stdout.write
    siege.attacks = lambda: {name: source}
    sys.stdout = io.StringIO()  # what attacks print is not looked at here
    write("\n".join(asyncio.run(siege.besiege(cast(Runner, Naive())))))


if __name__ == "__main__":
    main(sys.argv[1])
