"""Settings, read once from the environment."""

import os
from pathlib import Path
from typing import Annotated, Literal

from platformdirs import user_cache_path, user_data_path
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

_PACKAGE = Path(__file__).parent
_BUNDLE = _PACKAGE / "bundle"

# Where templates/, static/, exercises/ and alembic/ are: in an installed wheel, or the checkout.
ROOT = _BUNDLE if _BUNDLE.is_dir() else _PACKAGE.parent


def _default_database() -> str:
    return f"sqlite:///{user_data_path('wallclock', appauthor=False) / 'wallclock.db'}"


class Settings(BaseSettings):
    """Every knob; each has a default that works on a laptop."""

    model_config = SettingsConfigDict(env_prefix="WALLCLOCK_", frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    database: str = Field(default_factory=_default_database, description="an SQLAlchemy URL")
    exercises: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(), description="further folders of exercises, separated as in PATH"
    )
    secret: str = Field(default="", description="signs cookies; made beside the database if empty")
    runs: Path = Field(
        default_factory=lambda: user_data_path("wallclock", appauthor=False) / "runs",
        description="where the runs of labs are kept",
    )
    lab_launcher: Literal["local", "slurm"] = "local"
    lab_queue: int = Field(
        default=20, ge=0, description="runs of labs that may wait; 0: none from the browser"
    )
    slurm_partition: str = Field(
        default="", pattern=r"^[\w.,-]*$", description="empty: Slurm's own"
    )
    slurm_nodes: int = Field(default=1, ge=1, description="nodes of a run, at most")
    slurm_gpus: int = Field(
        default=0, ge=0, description="GPUs of a node; 0: labs run on processors"
    )
    slurm_site: Path | None = Field(
        default=None,
        description="a file with #SBATCH lines (account, constraints) and commands (module load) "
        "that go before the run",
    )
    slurm_python: str = Field(default="", description="Python on the nodes; empty: the server's")
    slurm_patience: float = Field(default=3600, gt=0, description="seconds in Slurm's queue")
    cache: Path = Field(
        default_factory=lambda: user_cache_path("wallclock", appauthor=False),
        description="where the sandbox's interpreter is kept once it is built",
    )
    answer_limit: int = Field(default=20_000, gt=0, description="characters of an answer")
    body_limit: int = Field(default=1 << 20, gt=0, description="bytes of a request's body")
    sandbox_workers: int = Field(default=0, ge=0, description="0: four for each core")
    sandbox_wall: float = Field(default=1.0, gt=0, description="seconds of one submission")

    @field_validator("exercises", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(Path(folder) for folder in value.split(os.pathsep) if folder)
        return value
