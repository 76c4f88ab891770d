"""In place of the settings, in a browser: where the course is, and how long answers may be."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a server that matter in a browser."""

    answer_limit: int = 20_000
    sandbox_wall: float = 2.0
    url: str = ""
    prefix: str = ""
    database: str = ""
