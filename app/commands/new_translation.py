"""`wallclock new translation`: write the texts of a file, to be translated."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from app.core.errors import InputError, nearest
from app.core.translation import LANGUAGES, SOURCE
from app.course.content.files import read_exercise, read_topic, topic_of
from app.course.content.spoken import topic_texts
from app.course.content.topic_file import TOPIC_FILE
from app.course.content.translations import exercise_texts, texts_digest
from app.course.kinds import Where

_HEAD = """\
# A translation of {name}: translate every text, and keep each {{value}} in it. Until the next line
# has no # in front of it, the page shows English.
# of: "{digest}"
"""


def write_translation(arguments: Namespace) -> int:
    """Write NAME.LANGUAGE.yaml beside a file, with the texts of that file.

    Raises:
        ContentError: the file is not valid.
        InputError: the language does not exist, or the translation already does.
    """
    path, language = Path(arguments.name), arguments.language
    known = [code for code in LANGUAGES if code != SOURCE]
    if language not in known:
        near = nearest(language or "", known)
        raise InputError(f"name the language with --language: {', '.join(known)}{near}")
    if path.name == TOPIC_FILE:
        topic, document = read_topic(path)
        texts = topic_texts(topic)
    else:
        exercise, document = read_exercise(path, topic_of(path))
        texts = exercise_texts(exercise)
    target = path.with_suffix(f".{language}{path.suffix}")
    head = _HEAD.format(name=path.name, digest=texts_digest(texts))
    chosen = chosen_texts(document.values, texts)
    add_implied_texts(chosen, texts)
    body = yaml.safe_dump(chosen, sort_keys=False, allow_unicode=True, width=100)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(head + body)
    except FileExistsError:
        raise InputError(f"{target} already exists; nothing was changed") from None
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error
    sys.stdout.write(f"{target}\n")
    sys.stderr.write(f"Translate it, remove the # before `of`, and run `wallclock lint {path}`.\n")
    return 0


def chosen_texts(values: object, texts: Mapping[Where, str], where: Where = ()) -> object:
    """The part of *values*, which are at *where*, that leads to *texts*."""
    if where in texts:
        return texts[where]
    if isinstance(values, list):
        return [chosen_texts(value, texts, (*where, place)) for place, value in enumerate(values)]
    if not isinstance(values, Mapping):
        return None
    inside = {key: chosen_texts(value, texts, (*where, key)) for key, value in values.items()}
    return {key: value for key, value in inside.items() if _has_text(value)}


def add_implied_texts(chosen: Any, texts: Mapping[Where, str]) -> None:
    """Add to *chosen* those of *texts* that its file leaves out, as the names of parts are."""
    for where, text in texts.items():
        inner = chosen
        for key in where[:-1]:
            inner = inner.setdefault(key, {}) if isinstance(inner, dict) else inner[key]
        if isinstance(inner, dict):
            inner.setdefault(where[-1], text)


def _has_text(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_text, value.values() if isinstance(value, dict) else value))
    return value is not None
