"""The Jinja environment: undefined names are errors, and everything is escaped."""

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.config import ROOT
from app.errors import capitalized, sentence


def environment() -> Environment:
    """An environment with the templates in templates/; an undefined name is an error."""
    made = Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["capitalized"] = capitalized
    made.filters["sentence"] = sentence
    return made
