"""Files that others wait for."""

from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write *text* at once or not at all: whoever looks sees all of it, or no file."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)
