"""The pages. They read and work without JavaScript; scripts only make them quicker."""

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from app.web import (
    authoring,
    board,
    docs,
    errata,
    exercise,
    explore,
    formulas,
    glossary,
    hardware,
    home,
    labs,
    progress,
    runs,
    static,
    theme,
)
from app.web.headers import SecurityHeaders
from app.web.trouble import page_for

# In this order: an address that more than one could answer goes to the first.
PARTS = (
    home,
    exercise,
    explore,
    formulas,
    glossary,
    hardware,
    labs,
    board,
    runs,
    errata,
    progress,
    authoring,
    docs,
    theme,
    static,
)
router = APIRouter(include_in_schema=False)
for part in PARTS:
    router.include_router(part.router)


def install(app: FastAPI, *, framed: bool = False) -> None:
    """Add what every answer gets; pages may be in frames of our own pages if *framed*."""
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    app.add_middleware(SecurityHeaders, framed=framed)


__all__ = ["PARTS", "install", "page_for", "router"]
