"""Between the network and the pages: limits, security headers, faults, logs.

| for | see |
|---|---|
| slow, endless and idle connections | `guard`, below the ASGI server |
| checks and headers for every request and response | `door`, the middleware, and `head` |
| rate limits per address | `allowance` |
| a site under a path prefix | `prefix` |
| the ID of a request, metrics and the access log | `watch` |
| the form of the log | `logs` |
| what a route takes, found out for its first request | `routes` |
"""
