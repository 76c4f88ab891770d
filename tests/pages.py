"""Every page that tests look at: one list for the tests of the web, the browser and the audit."""

from app.course.content.errata import errata
from app.course.explorers import explorer_pages
from app.course.kinds import KINDS
from app.labs.results.analysis import shipped_runs
from app.labs.spec import known_labs
from app.site.web.reference.docs import documentation

SAMPLES = {name: f"/exercises/{kind.sample}" for name, kind in KINDS.items()}
RUN = next(f"/labs/{run.lab}/{run.id}" for run in shipped_runs() if run.lab == "algorithms")
LAYOUT = "model=Llama-3.1-8B&cluster=64+H100&layout=tensor=8+data=8"
# The right schedule of a puzzle, with which its picture is shared.
SCHEDULE = "eNpz0zPQM1Bw0zMEkilF-QV6FWCmm54RQsAILGCMEDAGC5iASVOEsClYwAwhYAYWMAeTFkDSCUqao-l3Aqt0grIh4ghnQdziBLbVCco2BJNANQD4BCpD"
# At least one page of each sort; more where the contents differ much.
PAGES = {
    "home": "/",
    "chapter": "/chapters/tensor",
    "chapter with numbers to set": "/chapters/your-cluster",
    **{f"chapter {name}": f"/chapters/{name}" for name in ("collectives", "memory", "rates", "overlap", "hardware")},
    **SAMPLES,
    "placement": "/placement",
    "question of the placement": "/placement/7/1",
    "final": "/final",
    "question of a final": "/final/7/1",
    "picture of a schedule": f"/exercises/puzzles/room-for-four/schedule?of={SCHEDULE}",
    "ring or tree": "/exercises/collectives/ring-or-tree",
    "traffic of stage 3": "/exercises/memory/traffic-of-stage-3",
    "cut by columns": "/exercises/tensor/column-split",
    "one link for a node": "/exercises/overlap/between-nodes",
    "beyond the critical batch": "/exercises/rates/beyond-the-critical-batch",
    "explorers": "/explore",
    "explorer, asked first": "/explore/memory",
    "explorer that plays": "/explore/ring",
    "explorer, compared": "/explore/pipeline?against=zb_h1",
    "labs": "/labs",
    "one lab": "/labs/algorithms",
    "run": RUN,
    "trace": "/measured/traces/a100-2-ddp-with-bytes",
    "own measurements": "/measured",
    "a published measurement": "/measured/h100-16-p5",
    "formulas": "/formulas",
    "formula": "/formulas/collectives.ring_all_reduce_time",
    "formula of a layer": "/formulas/memory.layer_activation_bytes",
    "formula with parts": f"/formulas/layout.step_time?{LAYOUT}",
    "errata": "/errata",
    "erratum": "/errata/E-01",
    "best layouts": "/explore/fit?model=Llama-3-8B&gpus=16&batch=128",
    "best layouts, none": "/explore/fit?model=Llama-3.1-405B&gpus=8&tensor=8",
    "hardware": "/hardware",
    "published runs": "/trust",
    "glossary": "/glossary",
    "reference": "/reference",
    "scratch pad": "/scratch",
    "search": "/search?q=bubble",
    "search without hits": "/search?q=xyzzy",
    "sign in": "/sign-in",
    "classes": "/classes",
    "progress": "/progress",
    "authoring": "/authoring",
    "units": "/authoring/units",
    "documentation": "/docs",
    "settings": "/docs/settings",
    "documentation with code": "/docs/grading",
    "JSON interface": "/api/docs",
    "learning platforms": "/lti",
    "not found": "/nothing",
}
NAMES = tuple(one.name for one in explorer_pages())
EXPLORED = {f"explore {name}": f"/explore/{name}?show=1" for name in NAMES}
# Pages like those above: their HTML is checked, and no browser opens them.
ALIKE = (
    "/chapters/pipelines",
    "/explore/ring?predict=1",
    "/errata?chapter=pipelines",
    "/trust?source=torchtitan",
    "/measured/gb200-128-two-racks",
    "/measured/torchtitan-8b-h100",
    *(f"/errata/{erratum.id}" for erratum in errata()),
    *(f"/docs/{name}" for name in documentation()),
    *(f"/explore/{name}" for name in NAMES),
    *(f"/labs/{one}" for one in known_labs()),
    *(f"/labs/{run.lab}/{run.id}" for run in shipped_runs()),
)
EVERY = tuple(dict.fromkeys((*PAGES.values(), *EXPLORED.values(), *ALIKE)))
