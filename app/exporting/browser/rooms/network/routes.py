"""In place of a server's routes, in a browser, which has a class of its own for them."""

LazyRoute = None
