"""Everything that the repository itself installs has one version everywhere: that of constraints.txt."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from itertools import chain

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.core.folders import ROOT

LINES = [
    line
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if not line.lstrip().startswith("#")
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
CURE = "run make constraints"
# What builds of torch for CUDA ask for; the repository installs those for processors.
CUDA = re.compile(r"nvidia|cuda|triton")


def environments() -> Iterator[dict[str, str]]:
    for python in PYTHONS:
        yield {
            **{name: str(value) for name, value in default_environment().items()},
            "python_version": python,
            "python_full_version": f"{python}.0",
        }


def pinned(environment: dict[str, str]) -> dict[str, Requirement]:
    lines = [Requirement(line) for line in LINES]
    return {
        canonicalize_name(line.name): line for line in lines if line.marker is None or line.marker.evaluate(environment)
    }


def asked_for() -> list[Requirement]:
    """All that pyproject.toml names, but for the extra of labs on a user's own machine."""
    extras = PROJECT["project"]["optional-dependencies"]
    named = chain(
        PROJECT["build-system"]["requires"],
        PROJECT["project"]["dependencies"],
        extras["people"],
        extras["postgres"],
        extras["test"],
        PROJECT["dependency-groups"]["peers"],
    )
    return [Requirement(one) for one in named]


def test_a_line_is_one_version_and_names_no_place() -> None:
    for line in LINES:
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [^:/@]+)?", line), line


def test_every_package_has_a_version_in_its_range_on_every_python() -> None:
    for environment in environments():
        lines = pinned(environment)
        for one in asked_for():
            if one.marker is None or one.marker.evaluate(environment):
                line = lines.get(canonicalize_name(one.name))
                assert line is not None, f"{one.name} is not in constraints.txt: {CURE}"
                (exact,) = line.specifier
                assert one.specifier.contains(exact.version), f"{line} is not {one}: {CURE}"


def test_what_a_package_needs_is_there_too() -> None:
    here = {name: str(value) for name, value in default_environment().items()}
    lines = pinned(here)
    left = [one for one in asked_for() if one.marker is None or one.marker.evaluate()]
    seen: set[tuple[str, frozenset[str]]] = set()
    while left:
        one = left.pop()
        key = canonicalize_name(one.name), frozenset(one.extras)
        if key in seen or CUDA.match(key[0]):
            continue
        seen.add(key)
        assert key[0] in lines, f"{key[0]} is not in constraints.txt: {CURE}"
        left += needed(one, here)
    assert len(seen) > 80


def needed(package: Requirement, here: dict[str, str]) -> list[Requirement]:
    """What the installed *package* needs; nothing, where it is for an environment of its own."""
    try:
        found = [Requirement(line) for line in requires(package.name) or []]
    except PackageNotFoundError:
        return []
    extras = ("", *package.extras)
    return [
        one for one in found if one.marker is None or any(one.marker.evaluate({**here, "extra": e}) for e in extras)
    ]


def test_no_other_torch_is_asked_for() -> None:
    assert "torch==2.13.0" in {line.partition(" ;")[0] for line in LINES}
    assert [str(one.specifier) for one in asked_for() if one.name == "torch"] == ["==2.13.0"]


def test_whatever_installs_is_told_the_constraints() -> None:
    commands = [
        command
        for file in ("Makefile", "deploy/Containerfile", "tests/federation/environment.py")
        for command in re.findall(r".*\bpip\b.* install\b.*", commands_of(file))
    ]
    assert len(commands) >= 3
    # make constraints itself installs what resolves them
    assert [one for one in commands if "--constraint" not in one and not one.endswith(" uv")] == []


def commands_of(file: str) -> str:
    """The text of *file*, a command a line; a list of words of Python is a command."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return re.sub(r'", "', " ", re.sub(r"\\\n\s*", "", text))
