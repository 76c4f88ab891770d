# TRIES: poison the interpreter for the next learner (builtins, math, random, sys.modules, sys.path) | MUST: next learner's correct solution still passes
import sys, math, builtins, random

math.sqrt = lambda v: 0
builtins.sum = lambda *a: 0
builtins.print = lambda *a: 1 / 0
random.random = lambda: 4
sys.modules["json"] = None
sys.path[:] = ["/tmp/evil"]
other_learner_secret = "other_learner_secret"


def solve(x):
    return 0
