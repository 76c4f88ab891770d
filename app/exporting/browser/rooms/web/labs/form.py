"""In place of the form for a run, in a browser: runs need a server."""

BACKEND = "backend"
