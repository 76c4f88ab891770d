"""The pages that are looked at: every kind of page, every kind of exercise, every explorer."""

from app.explorers import EXPLORERS
from app.kinds import KINDS
from app.labs.archive import recorded

SAMPLES = {name: f"/exercises/{kind.sample}" for name, kind in KINDS.items()}
PAGES = {
    "home": "/",
    "chapter": "/chapters/tensor",
    **SAMPLES,
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
