"""In place of the template environment, in a browser: templates that were compiled at export."""

from functools import cache

from jinja2 import Environment, ModuleLoader, StrictUndefined
from markupsafe import Markup

from app.core.errors import capitalize, sentence
from app.core.folders import ROOT
from app.core.translation import Numeral, form_of, form_of_number, translate
from app.core.translation.dates import short_day, short_moment


def template_environment(language: str = "en") -> Environment:
    """An environment with the compiled templates; an undefined name is an error."""
    made = Environment(
        loader=ModuleLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    made.filters["capitalized"] = capitalize
    made.filters["sentence"] = sentence
    made.filters["short_day"] = short_day
    made.filters["short_moment"] = short_moment
    made.filters["numeral"] = lambda number: Numeral(f"{number:g}")
    made.globals["language"] = language
    made.globals["english"] = "" if language == "en" else Markup(' lang="en"')
    made.install_gettext_callables(cache(form_of), form_of_number, newstyle=True)
    made.globals["_"] = translate
    return made
