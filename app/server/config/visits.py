"""The settings of what the server accepts from visitors, and how long it keeps it."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import NoDecode

from app.server.config.sandbox import SandboxSettings


class VisitSettings(SandboxSettings):
    """The host names, rates and sizes that are accepted, and how long data is kept.

    An IPv6 network of 64 bits counts as one address.
    """

    processor_allowed: int = Field(
        default=40,
        ge=0,
        description="maximum seconds of processor time per minute of a person who is signed in, or of an address; "
        "0: no limit",
    )
    answers_allowed: int = Field(
        default=3600,
        ge=0,
        description="maximum answers, hints and solutions per address and minute; each thousand "
        "characters of an answer count as one more; 0: no limit",
    )
    runs_allowed: int = Field(
        default=300, ge=0, description="maximum lab runs started per address and hour; 0: no limit"
    )
    sent_runs_allowed: int = Field(
        default=300, ge=0, description="maximum lab runs uploaded per address and hour; 0: no limit"
    )
    storage_allowed: int = Field(
        default=100_000_000,
        ge=0,
        description="maximum bytes that are stored per day of a person who is signed in, or of an address; 0: no limit",
    )
    hosts: Annotated[frozenset[str], NoDecode] = Field(
        default=frozenset(),
        description="comma-separated names by which browsers may ask for this server, beside that "
        "in the public URL, its own and its addresses; *: any",
    )
    answer_limit: int = Field(default=20_000, gt=0, description="maximum characters per answer")
    body_limit: int = Field(default=1 << 20, gt=0, description="maximum bytes per request body")
    connections_allowed: int = Field(
        default=2048, ge=1, description="maximum open connections per address, except proxies"
    )
    anonymous_days: int = Field(
        default=400,
        ge=0,
        description="days without anything new after which what was stored without a person is deleted; 0: never",
    )
