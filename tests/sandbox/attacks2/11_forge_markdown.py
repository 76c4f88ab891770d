# TRIES: error message, exception name and printed text with Markdown, HTML, LaTeX, links, back-ticks
# Written for an audit of this project.
class X(Exception): pass
X.__name__='`](javascript:alert(1))<img src=x onerror=alert(1)>'
def solve(x):
    print('<script>alert(1)</script>')
    raise X('``` $\\frac$ [a](javascript:alert(1)) <svg onload=alert(1)> ' + '`'*250)
