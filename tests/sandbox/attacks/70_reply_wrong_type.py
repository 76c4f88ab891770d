# TRIES: a reply that is no text | MUST: an error verdict
import sys

running = sys.modules.get("running")
if running:
    running._text = lambda reply: 5


def solve(x):
    return 0
