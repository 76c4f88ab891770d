# TRIES: replies that are no JSON, or deep JSON | MUST: an error verdict
import sys

running = sys.modules.get("running")
if running:
    running._text = lambda reply: "[" * 60000


def solve(x):
    return 0
