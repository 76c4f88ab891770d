"""The one way to start what runs a job: `python -m app.labs.runner job.json`.

With a rank in the environment, as Slurm and torchrun set it, this process is that rank. Without one,
it leads all ranks on this machine.
"""

import os
import signal
import sys
from importlib import import_module
from pathlib import Path

_INTERRUPTED = 130


def main() -> None:
    """Run to the end; Ctrl+C prints no traceback, not even while modules are imported."""
    try:
        path = Path(sys.argv[1])
        folder = path.parent if path.suffix == ".json" else path
        process = import_module("app.labs.runner.process")
        if process.has_rank(os.environ):
            process.run_rank(folder)
        sys.exit(_led(folder.absolute()))
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _led(folder: Path) -> int:
    """The exit code of a run whose ranks are forks of this process; Ctrl+C cancels it."""
    leader, job = import_module("app.labs.runner.leader"), import_module("app.labs.runner.job")
    os.environ.update(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    import_module("app.labs.runner.rank")  # its forks have torch then
    signal.pthread_sigmask(signal.SIG_BLOCK, leader.STOPPING)
    pid = os.fork()
    if pid == 0:
        leader.lead(folder)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, leader.STOPPING)
    signal.signal(signal.SIGINT, lambda *_: os.kill(pid, signal.SIGTERM))
    os.waitpid(pid, 0)
    outcome = job.JobOutcome.read(folder)
    sys.stderr.write(f"{outcome.state}{outcome.cause and ': '}{outcome.cause}\n")
    return {job.DONE: 0, job.CANCELED: _INTERRUPTED}.get(outcome.state, 1)


if __name__ == "__main__":
    main()
