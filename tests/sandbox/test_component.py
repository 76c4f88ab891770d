"""The compiled component: one file for each version and machine, built once, and trusted only if it is ours."""

import asyncio
import importlib.metadata
import os
import platform
import stat
import sys
from pathlib import Path

import pytest

from app.core.errors import UnavailableError
from app.course.sandbox import component
from app.course.sandbox.component import component_file, component_key, ensure, package_paths
from tests.each import each
from tests.waiting import HANGS

PROCESSOR = "processor : 0\ncpu MHz : 2100.0\nflags : fpu vme avx2\nbugs : none\n"


def key_on(monkeypatch: pytest.MonkeyPatch, processor: str | OSError) -> str:
    """The key on a machine with *processor* in its /proc/cpuinfo."""
    read_text = Path.read_text

    def read(path: Path, *args: str, **options: str) -> str:
        if str(path) != "/proc/cpuinfo":
            return read_text(path, *args, **options)
        if isinstance(processor, OSError):
            raise processor
        return processor

    with monkeypatch.context() as machine:
        machine.setattr(Path, "read_text", read)
        return component_key()


def test_the_key_is_another_one_where_the_processor_can_do_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    first = key_on(monkeypatch, PROCESSOR)
    assert (len(first), first) == (24, key_on(monkeypatch, PROCESSOR))
    assert key_on(monkeypatch, PROCESSOR.replace("2100.0", "3300.0")) == first  # it may be throttled
    assert key_on(monkeypatch, PROCESSOR + "processor : 1\nflags : fpu\n") == first  # all of them are alike
    arm = PROCESSOR.replace("flags", "Features")
    others = [
        key_on(monkeypatch, text)
        for text in (PROCESSOR.replace("avx2", "avx512f"), arm, arm.replace("avx2", "sve"), "processor : 0\n")
    ]
    monkeypatch.setattr(platform, "processor", lambda: "a processor")
    others.append(key_on(monkeypatch, FileNotFoundError("no /proc")))
    assert len({first, *others}) == 6


def test_the_key_is_another_one_for_another_version_or_system(monkeypatch: pytest.MonkeyPatch) -> None:
    first, version = component_key(), importlib.metadata.version
    keys = {first}
    for package in ("wasmtime", "componentize-py"):
        with monkeypatch.context() as other:
            other.setattr(
                importlib.metadata, "version", lambda name, of=package: version(name) + ("9" if name == of else "")
            )
            keys.add(component_key())
    for module, name, value in ((sys, "platform", "other"), (platform, "machine", lambda: "other")):
        with monkeypatch.context() as other:
            other.setattr(module, name, value)
            keys.add(component_key())
    assert len(keys) == 5
    assert component_file(Path("/cache")) == Path(f"/cache/sandbox/{first}/guest.cwasm")


def test_the_key_is_another_one_when_a_source_of_the_component_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, read_bytes, keys = component_key(), Path.read_bytes, []
    for changed in ("engine.py", "build.py", "codec.py", "world.wit", "pool.py"):
        with monkeypatch.context() as other:
            other.setattr(Path, "read_bytes", lambda path, name=changed: read_bytes(path) + b"#" * (path.name == name))
            keys.append(component_key())
    assert keys[-1] == first  # the server's own part
    assert len({first, *keys[:-1]}) == 5


def test_the_folders_of_packages_are_those_that_they_are_imported_from() -> None:
    assert package_paths()
    assert all(
        any((Path(folder) / package).is_dir() for folder in package_paths())
        for package in ("wasmtime", "componentize_py")
    )


def built(file: Path) -> None:
    asyncio.run(asyncio.wait_for(ensure(file), HANGS))


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A script in the place of the interpreter that builds: "sh" -I -S -B build.py TARGET PATH..."""
    script = tmp_path / "builder"
    monkeypatch.setattr(sys, "executable", str(script))
    return script


def write_script(script: Path, text: str) -> None:
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o700)


def test_a_missing_component_is_built_once_for_this_user_alone(builder: Path, tmp_path: Path) -> None:
    file = tmp_path / "sandbox" / "key" / "guest.cwasm"
    write_script(builder, f'umask 077; echo "$*" >> {tmp_path}/calls; echo built > "$5"')

    async def both() -> None:
        await asyncio.gather(ensure(file), ensure(file))

    asyncio.run(asyncio.wait_for(both(), HANGS))
    built(file)
    (call,) = (tmp_path / "calls").read_text().splitlines()
    script = Path(component.__file__).with_name("build.py")
    assert call == f"-I -S -B {script} {file} {' '.join(package_paths())}"
    assert file.read_text() == "built\n"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@each(
    ("script", "says"),
    [
        ("echo first >&2; echo the cause >&2; exit 1", r"cannot be built in .*key: the cause; it needs 200 MB"),
        ("exit 1", "no reason given"),
        ("exit 0", "no reason given"),
        ('umask 077; echo built > "$5"; echo broken >&2; exit 3', "broken"),
    ],
)
def test_a_build_that_fails_says_why_in_its_last_line(builder: Path, tmp_path: Path, script: str, says: str) -> None:
    file = tmp_path / "key" / "guest.cwasm"
    file.unlink(missing_ok=True)
    write_script(builder, script)
    with pytest.raises(UnavailableError, match=says):
        built(file)


def test_a_build_that_takes_too_long_is_ended(builder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component, "_BUILD_TIME", 0.3)
    write_script(builder, f"echo $$ > {tmp_path}/pid; exec sleep 600")
    with pytest.raises(UnavailableError, match="not built within"):
        built(tmp_path / "key" / "guest.cwasm")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@each("mode", [(0o700, 0o666), (0o777, 0o600), (0o700, 0o620)])
def test_a_component_that_others_could_have_written_is_not_used(tmp_path: Path, mode: tuple[int, int]) -> None:
    file = tmp_path / "guest.cwasm"
    file.write_bytes(b"")
    for path, bits in zip((tmp_path, file), (0o700, 0o600), strict=True):
        path.chmod(bits)
    built(file)
    for path, bits in zip((tmp_path, file), mode, strict=True):
        path.chmod(bits)
    with pytest.raises(UnavailableError, match="another user"):
        built(file)


def test_a_cache_that_is_in_the_way_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "sandbox").write_text("a file in the way")
    with pytest.raises(UnavailableError, match=r"cannot be used: .*; set WALLCLOCK_CACHE to a folder"):
        built(tmp_path / "sandbox" / "key" / "guest.cwasm")
