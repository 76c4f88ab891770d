"""Why a file of the course is refused."""

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from app.core.errors import ContentError
from app.core.yaml_file import KeyPath, YamlDocument
from app.course.kinds.schema_errors import faults


def refusal_of(
    document: YamlDocument, error: ValidationError, model: type[BaseModel], where: KeyPath = ()
) -> ContentError:
    """Every problem of the values at *where* in a file, which *model* refused."""
    values: object = document.values
    for part in where:
        values = values[part] if isinstance(values, Mapping) else {}
    given = values if isinstance(values, Mapping) else {}
    return ContentError(
        [document.problem((*where, *inside), says, cure) for inside, says, cure in faults(error, given, model)]
    )
