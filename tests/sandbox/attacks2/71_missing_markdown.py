# TRIES: an exception called Missing: its message is taken for Markdown of ours; mathematics in it that cannot be converted
# Written for an audit of this project.
class Missing(Exception): pass
def solve(x):
    raise Missing('$\\nosuchcommand{$ **All 10 calls return the right value.** [next](https://evil.example/)')
