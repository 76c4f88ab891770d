"""`wallclock preview`: exercise files beside their pages, linted while one types."""

from app.authoring.preview.numeric_form import preview_app

__all__ = ["preview_app"]
