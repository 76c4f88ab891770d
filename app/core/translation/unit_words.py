"""Units that are words, such as days: a quantity in one of them is a sentence."""

from app.core.translation.sentence import noted

# By the symbol that units write; most others are signs, which are the same everywhere.
FORMS = {
    "days": noted("{number} days"),
    "years": noted("{number} years"),
    "GPU-hours": noted("{number} GPU-hours"),
    "PF-days": noted("{number} PF-days"),
    "million": noted("{number} million"),
    "nodes": noted("{number} nodes"),
    "steps": noted("{number} steps"),
    "tokens": noted("{number} tokens"),
    "sequences": noted("{number} sequences"),
    "steps/s": noted("{number} steps/s"),
    "tokens/s": noted("{number} tokens/s"),
    "sequences/s": noted("{number} sequences/s"),
    "thousand": noted("{number} thousand"),
    "billion": noted("{number} billion"),
    "trillion": noted("{number} trillion"),
}
# The same for a single one, where it differs.
FORMS_OF_ONE = FORMS | {
    "days": noted("{number} day"),
    "years": noted("{number} year"),
    "GPU-hours": noted("{number} GPU-hour"),
    "PF-days": noted("{number} PF-day"),
    "nodes": noted("{number} node"),
    "steps": noted("{number} step"),
    "tokens": noted("{number} token"),
    "sequences": noted("{number} sequence"),
}
