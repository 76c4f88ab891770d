"""How every template is read: strictly, and escaped."""

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.config import ROOT


def environment() -> Environment:
    """Templates from the folder of that name; what is not defined is an error."""
    return Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
