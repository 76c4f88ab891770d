"""In place of a server's routes, in a browser, where nothing is called aside."""

from fastapi import APIRouter as Router

__all__ = ["Router"]
