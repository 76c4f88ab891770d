"""The settings of by which names the server is asked, and of what it takes and keeps."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import NoDecode

from app.config.allowances import AllowanceSettings


class VisitSettings(AllowanceSettings):
    """By which names the server is asked, and how much it takes and keeps."""

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
        description="days without anything new after which what was stored without a person is "
        "deleted; 0: never",
    )
