"""What a web server and a sandbox server say to each other, as JSON over HTTP.

A reply to `RUN` begins before the run ends: spaces are sent until there is a verdict, so that
a server that has vanished is told apart from one with a long queue.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import blake2b
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.course.sandbox.execution import SOURCE_LIMIT
from app.server.aside.fair_queue import Client

STATE, RUN = "/state", "/run"
PROTOCOL = 1  # both ends must speak the same
ORDER_LIMIT = 8 << 20  # bytes
REPLY_LIMIT = 8 << 20  # bytes; twice what a worker process may answer
BEAT = 5.0  # seconds from one space to the next
SILENCE = 3 * BEAT  # seconds after which a server has vanished


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ClientOf(_Message):
    """For whom a run is scheduled; its name is a digest."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    shared: bool
    limit: int | None

    @property
    def client(self) -> Client:
        """As the fair queue knows it."""
        return Client(self.name, self.shared, self.limit)


class WorkerProgram(_Message):
    """What a worker is asked."""

    source: Annotated[str, Field(max_length=SOURCE_LIMIT)]
    entry: Annotated[str, Field(max_length=SOURCE_LIMIT)]
    calls: list[list[object]]


class SandboxOrder(_Message):
    """A run that a web server asks for."""

    client: ClientOf
    program: WorkerProgram
    wall: Annotated[float, Field(gt=0)]
    long: bool


class SandboxState(_Message):
    """Whether a sandbox server can run programs, and what it is busy with."""

    protocol: int
    version: str
    state: Literal["starting", "ready", "off"]
    says: str
    cause: str
    wall: float
    workers: int
    busy: int
    waiting: int


class SandboxReply(_Message):
    """How a run went: one of these is set."""

    answer: dict[str, object] | None = None
    full: str = ""  # too many runs are waiting
    off: str = ""  # it cannot run programs now
    lost: Literal["", "died", "lost", "busy"] = ""


def order(client: Client, program: Mapping[str, object], wall: float, *, long: bool) -> bytes:
    """An order as it is sent; only a digest of the name of *client* is in it."""
    named = {**asdict(client), "name": blake2b(client.name.encode(), digest_size=16).hexdigest()}
    message = {"client": named, "program": program, "wall": wall, "long": long}
    return json.dumps(message).encode()
