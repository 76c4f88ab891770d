"""In place of Starlette, in a browser."""
