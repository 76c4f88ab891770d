"""The same formula in a published package, side by side in one run; told, with no goal."""

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure

PACKAGE = "mlsysim==0.3.0"
MEASURE = """
import json, sys, time, timeit
started = time.perf_counter()
{imports}
imported = time.perf_counter() - started
call = lambda: {call}
assert abs(float({value}) - 0.07007) < 1e-9
times = timeit.repeat(call, number=200)
print(json.dumps([imported, min(times) / 200]))
"""
OURS = {
    "imports": "from app.core.formulas.collectives import ring_all_reduce_time as work",
    "call": "work(2e9, 8, 50e9, 5e-6)",
    "value": "call()",
}
THEIRS = {
    "imports": "import mlsysim\nfrom mlsysim.physics.communication import calc_ring_allreduce_time as work\nfrom mlsysim.core.units import ureg\nsize, speed, wait = 2e9 * ureg.byte, 50e9 * ureg.byte / ureg.second, 5e-6 * ureg.second",
    "call": "work(size, 8, speed, wait)",
    "value": "call().magnitude",
}


def _measured(python: Path | str, code: dict[str, str]) -> tuple[float, float]:
    command = [str(python), "-c", MEASURE.format(**code)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    imported, called = json.loads(printed)
    return imported, called


def measure() -> Iterator[Figure]:
    """Imports and calls of the ring all-reduce time, theirs over ours."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = next(Path(folder).glob("[bS]*/python*"))
        install = [str(python), "-m", "pip", "install", "--quiet", PACKAGE]
        if subprocess.run(install, check=False, capture_output=True).returncode:
            sys.stdout.write(f"{PACKAGE} cannot be installed here\n")
            return
        their_import, their_call = _measured(python, THEIRS)
    our_import, our_call = _measured(sys.executable, OURS)
    yield Figure("ring all-reduce time, mlsysim", 1e6 * their_call, "µs")
    yield Figure("ring all-reduce time, ours", 1e6 * our_call, "µs")
    yield Figure("call, mlsysim over ours", their_call / our_call, "×")
    yield Figure("import, mlsysim over ours", their_import / our_import, "×")
