"""What reads the text of a tool: a module for each, which is all that it takes to add one."""

from collections.abc import Iterator
from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules

from app.core.measurements.readers.nccl_tables import TextReader


def _known_readers() -> Iterator[type[TextReader]]:
    for found in iter_modules(__path__):
        module = import_module(f"{__name__}.{found.name}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, TextReader) and not isabstract(value):
                yield value


# Those that take the lines of no other come last.
TEXT_READERS = tuple(sorted(_known_readers(), key=lambda reader: reader.takes_the_rest))

__all__ = ["TEXT_READERS", "TextReader"]
