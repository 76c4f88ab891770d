"""What is wrong with the settings, in plain words."""

from collections.abc import Iterator

from pydantic import ValidationError

from app.core.validation import problem_text, problems_of
from app.server.config import Settings


def setting_problems(error: ValidationError) -> Iterator[str]:
    """Each problem of settings that were refused, with the name of the variable."""
    for where, says in problems_of(error.errors(include_url=False), Settings):
        name = "_".join(map(str, where)).upper()
        yield problem_text((f"WALLCLOCK_{name}",), says) if name else says
