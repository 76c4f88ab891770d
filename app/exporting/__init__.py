"""The course as static files, whose pages compute and check in the browser itself."""
