# TRIES: NUL and control characters, form feeds, a BOM in the source
# Written for an audit of this project.
﻿def solve(x):
    return 'a'
