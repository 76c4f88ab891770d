"""The pages that are about no exercise, formula or term: their titles, and what they are for."""

from app.core.translation import noted
from app.site.web.reference import trust_view as trust

SITE_PAGES = (
    (
        noted("Explore"),
        "/explore",
        noted("Sliders and figures: all-reduce, pipelines, memory, rooflines, checkpoints."),
    ),
    (noted("Placement"), "/placement", noted("Six questions at most that say which chapters you can skip.")),
    (noted("Final"), "/final", noted("Twenty drawn questions from the whole course, and what to repeat.")),
    (
        noted("The map"),
        "/map",
        noted("Which chapter builds on which, and routes for those who train, serve, or run the cluster."),
    ),
    (noted("Labs"), "/labs", noted("Predict a number of distributed training, then measure it with PyTorch.")),
    (
        noted("Your own measurements"),
        "/measured",
        noted("Read nccl-tests, a log or a trace of yours beside the formulas."),
    ),
    (
        noted("Traces"),
        "/measured/traces",
        noted("Read a trace of the PyTorch profiler: which toll a step pays, and what to try first."),
    ),
    (noted("Progress"), "/progress", noted("What you have done: export, import and delete it.")),
    (
        noted("Classes"),
        "/classes",
        noted(
            "Run a course on Wallclock: students join by a link, you choose exercises and "
            "dates, and the points are counted for you."
        ),
    ),
    (noted("Sign in"), "/sign-in", noted("With a code of your instructor, or an account of your organization.")),
    (
        noted("Formulas"),
        "/formulas",
        noted("Every formula of the course, with its derivation, its source and a calculator."),
    ),
    (
        noted("Errata"),
        "/errata",
        noted("Where well-known teaching material is wrong, and what is right, computed on this site."),
    ),
    (noted("Glossary"), "/glossary", noted("The terms of distributed training, each in a sentence or two.")),
    (noted("Hardware and models"), "/hardware", noted("The values that formulas and exercises start from.")),
    (noted("Search"), "/search", noted("A search over the whole site.")),
    (
        noted("Reference"),
        "/reference",
        noted("Everything beside the course: to look up, to find your way, to teach with."),
    ),
    (noted("Documentation"), "/docs", noted("How to solve, teach, write exercises, and run a server.")),
    (noted("Write exercises"), "/authoring", noted("The format of exercise files, and a sample of each kind.")),
    (noted("JSON interface"), "/api/docs", noted("Check answers from a program.")),
    (trust.TITLE, "/trust", trust.SAYS),
)
