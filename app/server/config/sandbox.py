"""The settings of the sandbox, which may be apart from the web server."""

import re
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode

_SHORTEST = 16  # characters of a token that cannot be guessed
_EXAMPLE = "such as http://10.0.0.7:8100, https://sandbox.example.org or unix:/run/sandbox.sock"
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?")


class SandboxSettings(BaseSettings):
    """Where programs run, and within which limits."""

    sandbox_workers: int = Field(default=0, ge=0, description="worker processes; 0: four per core")
    sandbox_wall: float = Field(default=1.0, gt=0, description="maximum seconds of processor time per submission")
    sandbox_at: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="comma-separated addresses of sandbox servers (`wallclock sandbox`) that run "
        "programs instead of this one",
    )
    sandbox_token: str = Field(default="", repr=False, description="the secret that sandbox servers ask for")

    @field_validator("sandbox_at", mode="before")
    @classmethod
    def _addresses(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(_sandbox_address(one) for one in map(str.strip, value.split(",")) if one)

    @field_validator("sandbox_token")
    @classmethod
    def _fit_for_a_header(cls, token: str) -> str:
        if token and len(token) < _SHORTEST:
            raise ValueError(f"a token needs at least {_SHORTEST} characters, not {len(token)}")
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise ValueError("a token consists of letters, digits and signs, without spaces")
        return token

    @model_validator(mode="after")
    def _servers_ask_for_a_token(self) -> Self:
        """Refuse half of the two settings that belong together."""
        if self.sandbox_at and not self.sandbox_token:
            raise ValueError(
                "WALLCLOCK_SANDBOX_AT needs WALLCLOCK_SANDBOX_TOKEN, with the same value as at the sandbox servers"
            )
        return self


def _sandbox_address(text: str) -> str:
    """*text* without a slash at its end, if a sandbox server can be there."""
    if text.startswith("unix:/") and text.isprintable():
        return text
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.netloc):
        raise ValueError(f"{text[:100]!r} is not the address of a sandbox server, {_EXAMPLE}")
    if parts.query or parts.fragment:
        raise ValueError(f"an address ends before '?' and '#', {_EXAMPLE}; not {text[:100]!r}")
    if parts.port == 0:
        raise ValueError(f"{text[:100]!r} needs the port on which the sandbox server listens")
    return text.rstrip("/")
