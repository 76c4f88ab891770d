"""One rank that another launcher starts: `python -m app.labs.launch.rank_main FOLDER`.

Its position comes from the environment, as Slurm, torchrun or an indexed Kubernetes Job sets it.
All ranks must see the folder; rank 0 writes its address there, so that no port has to be chosen.
"""

import sys
from importlib import import_module
from pathlib import Path

_INTERRUPTED = 130


def main() -> None:
    """Run this rank to its end; Ctrl+C prints no traceback, not even while modules are imported."""
    try:
        import_module("app.labs.launch.rank_life").run_rank(Path(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
