"""`wallclock trace slim`: a trace without what is private, to send to others."""

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import NamedTemporaryFile

from app.commands.files import add_actions
from app.core.errors import InputError
from app.core.measurements.trace.redaction import slim
from app.core.units import show_size


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock trace`."""
    actions = add_actions(parser)
    slim = actions.add_parser("slim", help="keep what the report needs: no paths, hosts, operators or Python frames")
    slim.add_argument("file", metavar="FILE", help="a trace of the PyTorch profiler, or packed")
    slim.add_argument("out", metavar="OUT", help="the file to write; packed if it ends in .gz")


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
            counts = slim(file, part, packed=target.suffix == ".gz")  # type: ignore[arg-type]
        except BaseException:
            os.unlink(part.name)
            raise
    os.chmod(part.name, 0o644)
    os.replace(part.name, target)
    return counts
