"""Modules compiled for the Python of browsers, by that Python itself, in Node where there is one."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from app.errors import UnavailableError

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
import zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

def compiled(name, source):
    # Programs of the standard library are not read by people here; those of the course say more.
    code = compile(source, name, "exec", dont_inherit=True, optimize={level})
    return bytes(_code_to_hash_pyc(code, bytes(8), False))

with zipfile.ZipFile("/modules.zip") as read, zipfile.ZipFile("/compiled.zip", "w") as write:
    for member in read.infolist():
        name, content = member.filename, read.read(member)
        if name.endswith(".py"):
            name, content = name + "c", compiled(name, content)
        write.writestr(zipfile.ZipInfo(name), content)
"""


class Compiler:
    """Compiles archives with the Python in *files*, by name; without Node, leaves them alone."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files
        self._node = shutil.which("node")

    def compiled(self, archive: bytes, *, documented: bool) -> bytes:
        """The zip *archive* with compiled modules, which start sooner; *documented*: with docs.

        Raises:
            UnavailableError: Node cannot do it.
        """
        if self._node is None:
            return archive
        with TemporaryDirectory() as name:
            folder = Path(name)
            for file, content in self._files.items():
                (folder / file).write_bytes(content)
            (folder / "modules.zip").write_bytes(archive)
            (folder / "compile.py").write_text(_COMPILE.format(level=0 if documented else 2))
            (folder / "run.mjs").write_text(_SCRIPT)
            try:
                subprocess.run(
                    [self._node, "run.mjs"],
                    cwd=folder, check=True, capture_output=True, timeout=_PATIENCE,
                )  # fmt: skip
            except (subprocess.SubprocessError, OSError) as error:
                says = "Node cannot compile the course: use version 20 or newer"
                raise UnavailableError(says, _said(error)) from error
            return (folder / "compiled.zip").read_bytes()


def _said(error: Exception) -> str:
    said = getattr(error, "stderr", None)
    return said.decode(errors="replace")[-500:] if isinstance(said, bytes) else str(error)
