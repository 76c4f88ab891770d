"""In place of a path prefix, in a browser: the desk places every address of an answer."""


def under(_: str, html: str) -> str:
    """*html* as it is."""
    return html
