"""`wallclock preview`: exercise files beside their pages, linted while one types."""

from app.authoring.preview.routes import preview_app

__all__ = ["preview_app"]
