"""In place of Starlette's exceptions, in a browser."""

from collections.abc import Mapping


class HTTPException(Exception):  # noqa: N818 - the name in Starlette
    """A request is refused, with a status."""

    def __init__(self, status_code: int, detail: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status_code = status_code
        self.detail = detail
        self.headers = headers
