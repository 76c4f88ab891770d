"""Files that others wait for."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write *text* at once or not at all: whoever looks sees all of it, or the file as it was."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")  # no two writers share it
    try:
        new.write_text(text)
        os.replace(new, path)
    except BaseException:  # whatever ends this process leaves nothing half written
        new.unlink(missing_ok=True)
        raise
