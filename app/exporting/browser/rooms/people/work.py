"""In place of the assignments of a server, in a browser."""

Drawing = tuple[str, int | None]
