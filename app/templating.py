"""The Jinja environment: undefined names are errors, and everything is escaped."""

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.config import ROOT


def environment() -> Environment:
    """An environment with the templates in templates/."""
    return Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
