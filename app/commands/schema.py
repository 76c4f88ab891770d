"""`wallclock schema`: the JSON Schema of the files of a course, for editors."""

import json
import sys
from argparse import ArgumentParser, Namespace

from pydantic import BaseModel

from app.authoring.starters import exercise_schema
from app.course.content.course import PackFile, ProofFile
from app.course.content.outline import CourseFile
from app.course.content.topic_file import TopicFile

_MODELS: dict[str, type[BaseModel]] = {"topic": TopicFile, "pack": PackFile, "proofs": ProofFile, "course": CourseFile}


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock schema`."""
    parser.add_argument(
        "file",
        nargs="?",
        choices=("exercise", *_MODELS),
        default="exercise",
        help="exercise files, the topic.yaml of a chapter, the pack.yaml of a course pack, the "
        "proofs.yaml of its formulas, or the course.yaml with its outline (default: exercise)",
    )


def run(arguments: Namespace) -> int:
    """Print the JSON Schema."""
    model = _MODELS.get(arguments.file)
    schema = model.model_json_schema() if model else exercise_schema()
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    sys.stdout.write(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
    return 0
