"""Modules compiled for the Python of browsers, by that Python, in Node where there is one."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from app.core.errors import UnavailableError

_PATIENCE = 300  # seconds
_SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";
import { loadPyodide } from "./pyodide.mjs";
const python = await loadPyodide({ indexURL: process.cwd() + "/" });
python.FS.writeFile("/modules.zip", new Uint8Array(readFileSync("modules.zip")));
python.runPython(readFileSync("compile.py", "utf-8"));
writeFileSync("compiled.zip", python.FS.readFile("/compiled.zip"));
"""
_COMPILE = """
import types
import zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

# Where lines begin is half of a module, and nobody reads it: of a program of a learner, it is kept.
def short(code):
    inner = (short(one) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=tuple(inner))

# Texts of formulas are shown; those of other modules are not.
def compiled(name, source):
    level = 0 if name.startswith(("app/core/formulas/", "wallclock_packs/")) else 2
    code = compile(source, name, "exec", dont_inherit=True, optimize=level)
    return bytes(_code_to_hash_pyc(short(code), bytes(8), False))

with zipfile.ZipFile("/modules.zip") as read, zipfile.ZipFile("/compiled.zip", "w") as write:
    for member in read.infolist():
        name, content = member.filename, read.read(member)
        if name.endswith(".py"):
            name, content = name + "c", compiled(name, content)
        write.writestr(zipfile.ZipInfo(name), content)
"""


class Compiler:
    """Compiles archives with the Python in *files*, by name; without Node, leaves them alone.

    What was compiled before is in *cache*.
    """

    def __init__(self, files: Mapping[str, bytes], cache: Path) -> None:
        self._files = files
        self._cache = cache
        self._node = shutil.which("node")

    def compiled(self, archive: bytes) -> bytes:
        """The zip *archive* with compiled modules, which start sooner.

        Raises:
            UnavailableError: Node cannot do it.
        """
        if self._node is None:
            return archive
        digest = hashlib.sha256(archive + _COMPILE.encode()).hexdigest()[:24]
        kept = self._cache / f"compiled-{digest}.zip"
        if kept.is_file():
            return kept.read_bytes()
        content = self._run(self._node, archive)
        self._cache.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(content)
        unfinished.replace(kept)
        return content

    def _run(self, node: str, archive: bytes) -> bytes:
        with TemporaryDirectory() as name:
            folder = Path(name)
            for file, content in self._files.items():
                (folder / file).write_bytes(content)
            (folder / "modules.zip").write_bytes(archive)
            (folder / "compile.py").write_text(_COMPILE)
            (folder / "run.mjs").write_text(_SCRIPT)
            try:
                subprocess.run([node, "run.mjs"], cwd=folder, check=True, capture_output=True, timeout=_PATIENCE)
            except (subprocess.SubprocessError, OSError) as error:
                says = "Node cannot compile the course: use version 20 or newer"
                raise UnavailableError(says, _said(error)) from error
            return (folder / "compiled.zip").read_bytes()


def _said(error: Exception) -> str:
    said = getattr(error, "stderr", None)
    return said.decode(errors="replace")[-500:] if isinstance(said, bytes) else str(error)
