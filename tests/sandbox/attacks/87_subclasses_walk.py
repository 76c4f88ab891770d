# TRIES: ().__class__.__base__.__subclasses__() to reach os / subprocess (breaks name-based filters) | MUST: reaches nothing useful
def solve(x):
    out = []
    for c in ().__class__.__base__.__subclasses__():
        g = getattr(getattr(c, "__init__", None), "__globals__", {})
        if "system" in g or "sys" in g:
            try:
                o = g.get("sys") and g["sys"].modules.get("os")
                out.append(o.system("touch /tmp/pwned_walk")) if o else None
                out.append(o.listdir("/etc")[:3])
            except BaseException as e:
                out.append(type(e).__name__)
            break
    return out
