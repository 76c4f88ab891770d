"""In place of FastAPI's responses, in a browser."""

from fastapi import Response


class HTMLResponse(Response):
    """A page."""

    media_type = "text/html"


class RedirectResponse(Response):
    """Another address."""

    def __init__(self, url: str, status_code: int = 307) -> None:
        super().__init__("", status_code, {"location": url})
