"""Runs a learner's program in a worker of its own, with the code that runs it on a server."""

import json
import sys

import running


def run(wish: str) -> str:
    """The replies to a request of the sandbox, as JSON."""
    request = json.loads(wish)
    output = sys.stdout, sys.stderr, sys.stdin
    try:
        replies = _replies(request)
    finally:
        sys.stdout, sys.stderr, sys.stdin = output
        running.forget()
    return json.dumps({"replies": replies, "stopped": None})


def _replies(request: dict[str, object]) -> list[str]:
    replies = [running.load(request)]
    if "raised" in json.loads(json.loads(replies[0])[0]):
        return replies
    for arguments in request["calls"]:
        replies.append(running.call(arguments))
        if "stopped" in json.loads(json.loads(replies[-1])[0]):
            break
    return replies
