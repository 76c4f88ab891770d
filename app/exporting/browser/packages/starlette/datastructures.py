"""In place of Starlette's data structures, in a browser."""


class UploadFile:
    """A file that was chosen."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self) -> bytes:
        """Its bytes."""
        return self._content
