"""In place of saved measurements, in a browser, which takes none from a file."""

from typing import NoReturn

from app.core.errors import NotFoundError


def view_of_row(_: object) -> NoReturn:
    """Nothing.

    Raises:
        NotFoundError: always.
    """
    raise NotFoundError("measurements need a server")
