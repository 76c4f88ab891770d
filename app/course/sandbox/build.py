"""Build the guest's component and compile it for this machine; run as a script by `component`.

    python -I -S -B build.py TARGET PATH...

PATH are the folders of the packages. The last line on stderr says what failed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
_COMPONENTIZE = "import sys; sys.path += {paths!r}; from componentize_py import script; script()"


def build_component(target: Path, paths: list[str]) -> None:
    """Write the file *target* atomically: it appears whole or not at all."""
    from engine import engine
    from wasmtime.component import Component

    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        wasm = Path(folder) / "guest.wasm"
        shutil.copytree(HERE / "guest", Path(folder) / "guest")
        command = [sys.executable, "-I", "-S", "-B", "-c", _COMPONENTIZE.format(paths=paths)]
        arguments = ["-d", "guest/world.wit", "-w", "guest", "componentize", "--stub-wasi"]
        arguments += ["-p", "guest", "component", "-o", "guest.wasm"]
        # Both this process and the next write temporary files to TMPDIR, which may be read-only
        # where the cache is not.
        os.environ["TMPDIR"] = folder
        done = subprocess.run([*command, *arguments], cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
            sys.exit(f"componentize-py failed: {lines[0]}")
        component = Component.from_file(engine(), str(wasm))
        compiled = Path(folder) / "guest.cwasm"
        compiled.write_bytes(component.serialize())
        compiled.chmod(0o600)
        os.replace(compiled, target)


if __name__ == "__main__":
    os.umask(0o077)
    sys.path += [str(HERE), *sys.argv[2:]]
    try:
        build_component(Path(sys.argv[1]), sys.argv[2:])
    except OSError as error:
        sys.exit(str(error))
