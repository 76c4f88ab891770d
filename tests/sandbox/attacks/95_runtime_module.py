# TRIES: call the wasm glue module (componentize_py_runtime) or any host binding directly | MUST: no host function exists; trap or error
def solve(x):
    import sys

    out = []
    for n in ("componentize_py_runtime", "wit_world", "pyodide_js", "js", "_pyodide_core"):
        m = sys.modules.get(n)
        if m is None:
            continue
        for k in dir(m):
            f = getattr(m, k)
            if callable(f):
                for a in ((), (0,), (0, 0), ("x", 0)):
                    try:
                        out.append((k, str(f(*a))[:60]))
                    except BaseException as e:
                        out.append((k, type(e).__name__))
    print(out[:40])
    return str(out)
