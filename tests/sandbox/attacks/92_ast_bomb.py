# TRIES: an abstract tree that is deep | MUST: an error verdict
def solve(x):
    import ast

    node = ast.Constant(1)
    for _ in range(200000):
        node = ast.UnaryOp(ast.USub(), node)
    return eval(compile(ast.fix_missing_locations(ast.Expression(node)), "s", "eval"))
