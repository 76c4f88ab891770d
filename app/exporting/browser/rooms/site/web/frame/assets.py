"""In place of the static files, in a browser: their addresses, as they were exported."""

from app.resolved import resolved


def asset_url(name: str) -> str:
    """Where the browser gets the file *name* from."""
    return f"/static/{resolved('assets')[name]}"
