"""Classes over the JSON interface, with tokens of scope class or admin."""

from fastapi import APIRouter

from app.api.people import assignments, classes, extensions, grades, roster

router = APIRouter()
for part in (classes, roster, assignments, extensions, grades):
    router.include_router(part.router)

__all__ = ["router"]
