"""In place of the settings, in a browser: how long answers may be."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a server that matter in a browser."""

    answer_limit: int = 20_000
    sandbox_wall: float = 2.0
    url: str = ""
    prefix: str = ""
    database: str = ""
