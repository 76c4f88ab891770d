"""The cache of the compiled component, which is built once per version and machine."""

import asyncio
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from pathlib import Path

from app.core.errors import UnavailableError
from app.server.cache import check_owner

_HERE = Path(__file__).resolve().parent
_PACKAGES = ("wasmtime", "componentize_py")
_SOURCES = ("engine.py", "build.py", "guest/*.py", "guest/*.wit")
_BUILD_TIME = 600.0  # seconds; it takes about 15 on two cores


def package_paths() -> list[str]:
    """The folders that hold the engine's packages, found without importing them."""
    found = (importlib.util.find_spec(name) for name in _PACKAGES)
    return sorted({str(Path(spec.origin).parent.parent) for spec in found if spec and spec.origin})


def component_key() -> str:
    """A hash of everything that a compiled component depends on."""
    digest = hashlib.sha256()
    for name in _PACKAGES:
        digest.update(f"{name} {importlib.metadata.version(name.replace('_', '-'))}\n".encode())
    digest.update(f"{sys.platform} {platform.machine()} {_processor()}\n".encode())
    for pattern in _SOURCES:
        for source in sorted(_HERE.glob(pattern)):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:24]


def _processor() -> str:
    """The processor's features, which the native code is compiled for."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def component_file(cache: Path) -> Path:
    """The path in *cache* of the compiled component for this version and machine."""
    return cache / "sandbox" / component_key() / "guest.cwasm"


async def ensure(file: Path) -> None:
    """Build the component *file* if it is missing, and check that no one else could write it.

    Raises:
        UnavailableError: it cannot be built or must not be trusted; the message has the cure.
    """
    try:
        if not file.exists():
            await _build_locked(file)
        check_owner(file.parent)
        check_owner(file)
    except OSError as error:
        raise UnavailableError(
            f"{file.parent} cannot be used: {error.strerror}; set WALLCLOCK_CACHE to a folder "
            "that the server may write to"
        ) from error


async def _build_locked(file: Path) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    locking = asyncio.ensure_future(asyncio.to_thread(_Lock, file.parent / "lock"))
    try:
        lock = await asyncio.shield(locking)
    except asyncio.CancelledError:
        locking.add_done_callback(_unlock)  # the thread still acquires it, and must release it
        raise
    with lock:
        if not file.exists():
            check_owner(file.parent)
            await _build(file)


def _unlock(locking: "asyncio.Future[_Lock]") -> None:
    if not locking.cancelled() and locking.exception() is None:
        locking.result().__exit__()


class _Lock:
    """A file lock, held while a component is built: one build per machine at a time."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._handle, fcntl.LOCK_EX)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


async def _build(target: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-B", str(_HERE / "build.py"), str(target), *package_paths(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        _, said = await asyncio.wait_for(process.communicate(), _BUILD_TIME)
    except TimeoutError as error:
        await _kill(process)
        raise UnavailableError(
            f"the sandbox was not built within {_BUILD_TIME:.0f} s; give the server more CPU time"
        ) from error
    except asyncio.CancelledError:
        await _kill(process)
        raise
    if process.returncode or not target.exists():
        last = said.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
        raise UnavailableError(
            f"the sandbox cannot be built in {target.parent}: {last[0]}; it needs 200 MB of disk "
            "there (WALLCLOCK_CACHE) and 500 MB of memory, for about half a minute"
        )


async def _kill(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()
