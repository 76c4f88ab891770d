"""The pages that are looked at: every kind of page, every kind of exercise, every explorer."""

from app.explorers import EXPLORERS
from app.labs.archive import recorded

KINDS = {
    "number": "/exercises/collectives/ring-all-reduce-time",
    "formula to write": "/exercises/collectives/derive-the-volume",
    "choice": "/exercises/memory/fsdp-default",
    "matching": "/exercises/diagnosis/technique-and-lever",
    "order": "/exercises/collectives/steps-of-a-ring",
    "bug": "/exercises/collectives/estimate-off-by-a-factor",
    "code": "/exercises/collectives/write-ring-time",
    "design": "/exercises/memory/the-mildest-stage",
    "lab exercise": "/exercises/collectives/time-the-tree",
}
PAGES = {
    "home": "/",
    "chapter": "/chapters/tensor",
    **KINDS,
    "explorers": "/explore",
    "explore, asked first": "/explore/memory",
    **{f"explore {name}": f"/explore/{name}?show=1" for name in EXPLORERS},
    "labs": "/labs",
    "lab": "/labs/algorithms",
    "board": "/labs/algorithms/board",
    "run": next(f"/labs/{run.lab}/{run.id}" for run in recorded() if run.lab == "all-reduce"),
    "formulas": "/formulas",
    "formula": "/formulas/collectives.ring_all_reduce_time",
    "errata": "/errata",
    "hardware": "/hardware",
    "glossary": "/glossary",
    "progress": "/progress",
    "authoring": "/authoring",
    "not found": "/nothing",
}
