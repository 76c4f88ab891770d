"""Records on the command line: a text, or a file with a configuration."""

from pathlib import Path

from app.core.errors import InputError
from app.core.formulas.configurations import CONFIGURATION_LIMIT

_ENDINGS = (".json", ".toml", ".sh", ".txt", ".args", ".yaml", ".yml")
_FOLDERS_FILE = "config.json"  # of a model from Hugging Face
_LONGEST_PATH = 250  # letters: no text of that length fails as the name of a file


def record_text(text: str) -> str:
    """*text*, or what is in the file that it names; in a folder, that is its config.json.

    Raises:
        InputError: it looks like a file, and none can be read.
    """
    if len(text) > _LONGEST_PATH or "\n" in text or "{" in text:
        return text
    path = Path(text)
    if path.is_dir() and (path / _FOLDERS_FILE).is_file():
        path = path / _FOLDERS_FILE
    if not path.is_file():
        if text.lower().endswith(_ENDINGS):
            raise InputError(f"{text} does not exist")
        return text
    return _read_configuration(path)


def _read_configuration(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(CONFIGURATION_LIMIT + 1)
        if len(found) > CONFIGURATION_LIMIT:
            raise InputError(f"{path} has more than {CONFIGURATION_LIMIT >> 10} KiB")
        return found.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text: {error.reason}") from error
