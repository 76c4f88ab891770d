"""The Jinja environments: undefined names are errors, and everything is escaped.

Each language has an environment of its own, with Jinja's extension for translations: a sentence is
looked up when a template is rendered.
"""

from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app.core.errors import capitalize, sentence
from app.core.folders import ROOT
from app.core.translation import SOURCE, Numeral, form_of, form_of_number, translate
from app.core.translation.dates import short_day, short_moment


def template_environment(language: str = SOURCE) -> Environment:
    """An environment with the templates in templates/, in *language*."""
    made = Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    made.policies["ext.i18n.trimmed"] = True
    made.filters["capitalized"] = capitalize
    made.filters["sentence"] = sentence
    made.filters["short_day"] = short_day
    made.filters["short_moment"] = short_moment
    made.filters["numeral"] = lambda number: Numeral(f"{number:g}")
    made.globals["language"] = language
    # The attribute of what is English on every page, such as the documentation.
    made.globals["english"] = "" if language == SOURCE else Markup(' lang="en"')
    # Blocks become calls with their values by name ("newstyle"); a form is looked up once.
    install: Any = made.install_gettext_callables  # type: ignore[attr-defined]
    install(cache(form_of), form_of_number, newstyle=True)
    made.globals["_"] = translate
    return made
