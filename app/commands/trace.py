"""`wallclock trace slim`: a trace without what is private, to send to others."""

import os
import sys
from argparse import Namespace
from pathlib import Path
from tempfile import NamedTemporaryFile

from app.errors import InputError
from app.measurements.trace.slimming import slim
from app.units import show_size


def run(arguments: Namespace) -> int:
    """Write FILE to OUT without what is private."""
    source, target = Path(arguments.file), Path(arguments.out)
    try:
        kept, seen = _slim(source, target)
    except OSError as error:
        raise InputError(f"{error.filename or target}: {error.strerror}") from None
    sizes = [show_size(path.stat().st_size) for path in (source, target)]
    sys.stderr.write(f"{kept:,} of {seen:,} events kept, {sizes[0]} to {sizes[1]}\n")
    return 0


def _slim(source: Path, target: Path) -> tuple[int, int]:
    """Write through a file beside *target*, so that nothing half-written is left behind."""
    with (
        source.open("rb") as file,
        NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}-", delete=False) as part,
    ):
        try:
            done = slim(file, part, packed=target.suffix == ".gz")  # type: ignore[arg-type]
        except BaseException:
            os.unlink(part.name)
            raise
    os.chmod(part.name, 0o644)
    os.replace(part.name, target)
    return done.kept, done.seen
