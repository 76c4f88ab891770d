"""In place of a server's log, in a browser."""


def note_trouble(*_: object) -> None:
    """Nothing: what is out of order is said on the page."""
