"""The settings, read from environment variables."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from platformdirs import user_cache_path, user_data_path
from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from app.core.errors import nearest
from app.core.validation import problem_text, problems_of
from app.server.config.checks import OptionalPath, WholePath, is_of_a_service, networks, shell_words
from app.server.config.visits import VisitSettings, path_prefix, prefix_of, public_url

_PREFIX = "WALLCLOCK_"
# Read by the tests; of earlier versions, and without effect.
_OTHERS = {"WALLCLOCK_CHROMIUM", "WALLCLOCK_PICTURES_ALLOWED", "WALLCLOCK_TRUSTED_USER_HEADER"}
_SHORTEST = 16  # characters of a secret that cannot be guessed
_PORT = 8000
_CONSENT = re.compile(r"[a-z0-9][a-z0-9-]*@[0-9a-f]{32}")


class Settings(VisitSettings):
    """Every setting; each has a default that works on a laptop."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(default=_PORT, ge=0, le=65535)
    uds: OptionalPath = Field(default=None, description="path of a Unix socket to listen at, instead of host and port")
    url: Annotated[str, AfterValidator(public_url)] = Field(
        default="",
        description="public URL of the site, such as https://wallclock.example.org or, under a "
        "path prefix, https://example.org/wallclock",
    )
    address: str = Field(default="", description="the former name of WALLCLOCK_URL")
    root_path: Annotated[str, AfterValidator(path_prefix)] = Field(
        default="", description="path prefix, such as /wallclock, if WALLCLOCK_URL is not set"
    )
    database: str = Field(
        default_factory=lambda: f"sqlite:///{user_data_path('wallclock', appauthor=False) / 'wallclock.db'}",
        description="SQLAlchemy URL of the database",
    )
    exercises: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(), description="additional folders of exercises, separated as in PATH"
    )
    pack_code: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="course packs whose own formulas, which are Python, may be loaded: NAME@DIGEST "
        "as `wallclock pack list` prints it, or the whole path of a folder; separated by commas",
    )
    language: Literal["en", "de", "zh"] = Field(
        default="en", description="language of the pages for browsers that prefer none of those offered"
    )
    secret: str = Field(default="", description="signs cookies; empty: generated once, and stored in the database")
    runs: WholePath = Field(
        default_factory=lambda: user_data_path("wallclock", appauthor=False) / "runs",
        description="folder of the lab runs",
    )
    lab_launcher: Literal["local", "slurm"] = "local"
    lab_queue: int = Field(
        default=20, ge=0, description="lab runs that may wait in the queue; 0: labs cannot be run from the browser"
    )
    labs_apart: bool = Field(
        default=False, description="whether `wallclock labs` runs what visitors of this server queue"
    )
    lab_network: str = Field(
        default="",
        pattern=r"^[\w.:/-]*$",
        description="network on which ranks of several nodes meet: an interface such as ib0, or a "
        "range such as 10.0.0.0/8; empty: that of the default route",
    )
    lab_starting: float = Field(
        default=60.0, gt=0, description="seconds in which PyTorch must be imported on this machine"
    )
    slurm_partition: str = Field(
        default="", pattern=r"^[\w.,-]*$", description="Slurm partition; empty: Slurm's default partition"
    )
    slurm_nodes: int = Field(default=1, ge=1, description="maximum nodes per run")
    slurm_gpus: int = Field(default=0, ge=0, description="GPUs per node; 0: labs run on CPUs")
    slurm_gpu_options: Annotated[str, AfterValidator(shell_words)] = Field(
        default="--gres=gpu:{gpus}",
        description="sbatch options that request {gpus} GPUs per node, such as "
        "--gres=gpu:h100:{gpus} or --gpus-per-node={gpus}",
    )
    slurm_cpus: int = Field(default=4, ge=0, description="CPUs per rank that has a GPU; 0: Slurm's default")
    slurm_memory: str = Field(
        default="", pattern=r"^([1-9]\d*[KMGT])?$", description="memory per rank, such as 32G; empty: Slurm's default"
    )
    slurm_exclusive: bool = Field(default=False, description="take whole nodes")
    slurm_srun: Annotated[str, AfterValidator(shell_words)] = Field(
        default="",
        description="words between srun and Python: options for a container, such as "
        "--container-image=..., or a command that wraps Python",
    )
    slurm_site: OptionalPath = Field(
        default=None,
        description="file with #SBATCH lines (account, constraints) and commands (module load) to "
        "insert before the run",
    )
    slurm_python: str = Field(default="", description="Python on the nodes; empty: the server's")
    slurm_starting: float = Field(
        default=300,
        gt=0,
        description="maximum seconds from the start of a job until its ranks have met, which "
        "includes the import of PyTorch and of a container",
    )
    slurm_patience: float = Field(default=3600, gt=0, description="maximum seconds in Slurm's queue")
    cache: WholePath = Field(
        default_factory=lambda: user_cache_path("wallclock", appauthor=False),
        description="cache folder for the sandbox's interpreter, which is built once, for the course as it was "
        "read, and for compiled templates; it may be deleted at any time",
    )
    patience: float = Field(
        default=15.0, gt=0, description="seconds for the head of a request to arrive, and for a body that stalls"
    )
    proxies: str = Field(
        default="127.0.0.1,::1",
        description="comma-separated addresses or networks of proxies whose X-Forwarded-For and "
        "X-Forwarded-Proto headers are trusted; empty: none",
    )
    oidc: str = Field(
        default="",
        repr=False,
        description="OpenID providers to sign in with: NAME=ISSUER,CLIENT_ID,SECRET, with a semicolon between two",
    )
    private_hosts: Annotated[frozenset[str], NoDecode] = Field(
        default=frozenset(),
        description="comma-separated hosts of identity providers and learning platforms that may "
        "have private addresses and use http, such as idp.campus.example or localhost:8080",
    )
    classes: Literal["anyone", "command"] = Field(
        default="anyone",
        description="who may make a class: anyone in the browser, or only the command `wallclock class create`",
    )
    drain: float = Field(
        default=0.0,
        ge=0,
        le=600,
        description="seconds for which the server still serves after a SIGTERM, while /readyz "
        "returns 503 so that a load balancer sends requests elsewhere",
    )
    access_log: bool = Field(default=False, description="log every request")
    log: Literal["text", "json"] = Field(
        default="text", description="form of the log: lines of text, or an object of JSON a line"
    )
    metrics: Annotated[str, AfterValidator(networks)] = Field(
        default="", description="comma-separated addresses or networks that may read /metrics; empty: none"
    )

    @model_validator(mode="before")
    @classmethod
    def _all_are_known(cls, values: object) -> object:
        """Refuse a misspelled name, which would otherwise leave the setting at its default."""
        known = {_PREFIX + name.upper() for name in cls.model_fields}
        for name in sorted(os.environ):
            ours = name.upper().startswith(_PREFIX) and not is_of_a_service(name)
            if ours and name.upper() not in known | _OTHERS:
                raise ValueError(f"{name} is not a setting{nearest(name.upper(), known)}")
        return values

    @model_validator(mode="before")
    @classmethod
    def _formerly(cls, values: object) -> object:
        """Let WALLCLOCK_ADDRESS stand for WALLCLOCK_URL."""
        if not isinstance(values, dict) or not (former := values.get("address")):
            return values
        url = values.get("url") or former
        if str(url).rstrip("/") != str(former).rstrip("/"):
            raise ValueError(
                f"WALLCLOCK_URL is {url!r}, and WALLCLOCK_ADDRESS, its former name, is {former!r}; "
                "remove WALLCLOCK_ADDRESS"
            )
        return {**values, "url": url}

    @model_validator(mode="after")
    def _one_prefix(self) -> Self:
        """Refuse two different prefixes."""
        if self.url and self.root_path not in ("", prefix_of(self.url)):
            raise ValueError(
                f"WALLCLOCK_URL is {self.url}, and the root path is {self.root_path}; remove one, or let them agree"
            )
        return self

    @property
    def prefix(self) -> str:
        """The path under which the site is, such as /wallclock; empty: at the root of the host."""
        return prefix_of(self.url) or self.root_path

    @field_validator("port", mode="before")
    @classmethod
    def _not_of_a_service(cls, port: object) -> object:
        return _PORT if is_of_a_service("WALLCLOCK_PORT", port) else port

    @field_validator("secret")
    @classmethod
    def _hard_to_guess(cls, secret: str) -> str:
        if secret and len(secret) < _SHORTEST:
            raise ValueError(f"a secret needs at least {_SHORTEST} characters, not {len(secret)}")
        return secret

    @field_validator("private_hosts", "hosts", mode="before")
    @classmethod
    def _hosts(cls, value: object) -> object:
        if isinstance(value, str):
            return frozenset(host.strip().lower() for host in value.split(",") if host.strip())
        return value

    @field_validator("pack_code", mode="before")
    @classmethod
    def _consents(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        given = tuple(one.strip() for one in value.split(",") if one.strip())
        for one in given:
            if not (_CONSENT.fullmatch(one) or Path(one).is_absolute()):
                raise ValueError(
                    f"{one!r} is neither NAME@DIGEST, as `wallclock pack list` prints it, nor the "
                    "whole path of a folder"
                )
        return given

    @field_validator("exercises", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(Path(folder) for folder in value.split(os.pathsep) if folder)
        return value


def setting_problems(error: ValidationError) -> Iterator[str]:
    """Each problem of settings that were refused, with the name of the variable."""
    for where, says in problems_of(error.errors(include_url=False), Settings):
        name = "_".join(map(str, where)).upper()
        yield problem_text((f"{_PREFIX}{name}",), says) if name else says
