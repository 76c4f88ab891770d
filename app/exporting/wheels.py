"""The packages that an export has for the Python of browsers: wheels, fetched once and checked."""

import hashlib
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from app.core.errors import InputError, UnavailableError

PLATFORM = "pyemscripten_2026_0_wasm32"  # of the Pyodide that an export has
# What pydantic is made of, with the digests of its wheels (SHA-256).
WHEELS = {
    "annotated_types-0.8.0-py3-none-any.whl": ("f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0"),
    "pydantic-2.14.4-py3-none-any.whl": ("653a2ad9f6d8858529c77c72717d0ea991d6c6837fe683246b2f4b2bbfc3fadc"),
    f"pydantic_core-2.50.5-cp314-cp314-{PLATFORM}.whl": (
        "b2910ec0fa5aeb9bef70156f2b79f4783978fdcfaa7b2f1b5d1814458d2e79a1"
    ),
    "typing_extensions-4.16.0-py3-none-any.whl": ("481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8"),
    "typing_inspection-0.4.5-py3-none-any.whl": ("bc210535442b39e1bf2805e0c7a17dfd6a4ace760c84c7f7d16245d23a6b1c39"),
}
_PATIENCE = 120  # seconds
# Of pydantic: what neither an exercise nor a file of progress needs.
_LEFT_OUT = ("pydantic/v1/", "pydantic/experimental/", "pydantic/mypy.py")


def packages_of(wheels: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """The modules in *wheels*, by their paths."""
    for wheel in wheels.values():
        with zipfile.ZipFile(io.BytesIO(wheel)) as packed:
            for name in packed.namelist():
                if name.endswith((".py", ".so")) and not name.startswith(_LEFT_OUT):
                    yield name, packed.read(name)


def licenses_of(wheels: Mapping[str, bytes]) -> Iterator[str]:
    """The licenses in *wheels*, each under the name of its package."""
    for file, wheel in wheels.items():
        package = file.partition("-")[0]
        with zipfile.ZipFile(io.BytesIO(wheel)) as packed:
            texts = [packed.read(n).decode() for n in packed.namelist() if "/licenses/" in n]
        yield "\n".join([package, "-" * len(package), *texts])


def browser_wheels(cache: Path, folder: Path | None = None) -> Mapping[str, bytes]:
    """The wheels by name, from *folder* if one is given, or fetched into *cache* once.

    Raises:
        InputError: the folder lacks one, or has another one than this version needs.
        UnavailableError: they cannot be fetched.
    """
    if folder:
        return {name: _given(folder / name) for name in WHEELS}
    kept = cache / "wheels"
    found = {name: _stored(kept / name) for name in WHEELS}
    if None in found.values():
        _fetch(kept)
    return {name: content or _checked(kept / name) for name, content in found.items()}


def _stored(path: Path) -> bytes | None:
    """The wheel at *path*, if it is there and the right one."""
    content = path.read_bytes() if path.is_file() else b""
    return content if _is_right(path.name, content) else None


def _given(path: Path) -> bytes:
    if not path.is_file():
        raise InputError(f"{path} is missing: `{_command('.')}` fetches it")
    content = path.read_bytes()
    if not _is_right(path.name, content):
        raise InputError(f"{path} is not that of PyPI: its digest is another")
    return content


def _checked(path: Path) -> bytes:
    content = _stored(path)
    if content is None:
        raise UnavailableError(f"what pip fetched as {path.name} has another digest: try again")
    return content


def _is_right(name: str, content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == WHEELS[name]


def _fetch(folder: Path) -> None:
    """Fetch the wheels into *folder* with pip, which knows the index of this machine.

    Raises:
        UnavailableError: pip is missing, or cannot fetch them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as unfinished:
        command = [sys.executable, "-m", *_command(unfinished).split()]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE)
        except (subprocess.SubprocessError, OSError) as error:
            raise UnavailableError(
                "pip cannot fetch the packages of Python for browsers: fetch them elsewhere with "
                f"`{_command('wheels')}`, and name the folder with --wheels"
            ) from error
        for path in Path(unfinished).iterdir():
            os.replace(path, folder / path.name)


def _command(folder: str) -> str:
    """The command that fetches the wheels into *folder*."""
    wanted = (name.split("-") for name in WHEELS)
    packages = " ".join(f"{name}=={version}" for name, version, *_ in wanted)
    python = "--implementation cp --python-version 314 --abi cp314 --abi none"
    return (
        f"pip download --no-deps --only-binary=:all: --platform {PLATFORM} --platform any {python}"
        f" --dest {folder} {packages}"
    )
