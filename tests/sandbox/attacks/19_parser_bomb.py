# TRIES: compile deeply nested source | MUST: SyntaxError/MemoryError/crash of this run only
def solve(x):
    compile("(" * 200000 + ")" * 200000, "s", "eval")
    eval("+".join(["1"] * 200000))
    return x
