# TRIES: a reply that says it was stopped, or lost | MUST: never a pass
import sys

running = sys.modules.get("running")
if running:
    running._text = lambda reply: '["{\\"stopped\\": \\"lost\\"}", ""]'


def solve(x):
    return 0
