# TRIES: hard-codes the visible example, returns it everywhere
# Written for an audit of this project.
def solve(x): return {1: 913377}.get(x, 913377)
