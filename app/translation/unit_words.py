"""Units that are words, such as days: a quantity in one of them is a sentence."""

from app.translation.sentence import noted

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
}
