# TRIES: recover removed modules through the builtin importer / _imp (undo any import allow-list) and open files, gc-scan, kill | MUST: refused by the boundary itself, not by the import filter; nothing leaks
def solve(x):
    import sys

    out = []
    b = sys.modules.get("importlib._bootstrap") or sys.modules.get("_frozen_importlib")
    imp = sys.modules.get("_imp") or getattr(b, "_imp", None)

    class Spec:
        def __init__(s, n):
            s.name = n
            s.origin = "built-in"
            s.parent = ""

    def get(n):
        try:
            return imp.create_builtin(Spec(n))
        except BaseException as e:
            out.append(n + type(e).__name__)

    g = get("gc")
    try:
        out.append(len([o for o in g.get_objects() if isinstance(o, dict) and "expected" in o]))
    except BaseException as e:
        out.append(type(e).__name__)
    p = get("posix")
    for f in (
        lambda: p.open("/etc/passwd", 0),
        lambda: p.listdir("/"),
        lambda: p.kill(1, 9),
        lambda: p.fork(),
        lambda: p.system("touch /tmp/pwned_imp"),
    ):
        try:
            out.append(str(f()))
        except BaseException as e:
            out.append(type(e).__name__)
    print(out)
    return out
