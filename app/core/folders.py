"""Where the files of this installation are: templates/, static/, exercises/ and alembic/."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_BUNDLE = _PACKAGE / "bundle"

ROOT = _BUNDLE if _BUNDLE.is_dir() else _PACKAGE.parent  # in a wheel, or in the checkout
