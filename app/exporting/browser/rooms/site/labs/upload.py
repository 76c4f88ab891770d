"""In place of runs that are sent in, in a browser, which takes none."""

from typing import NoReturn

from app.core.errors import InputError


def read_sent(_: str) -> NoReturn:
    """Nothing: a file's lab runs are left out.

    Raises:
        InputError: always.
    """
    raise InputError("lab runs need a server")
