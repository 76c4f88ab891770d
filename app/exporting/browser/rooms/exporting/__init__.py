"""The addresses of an exported course."""
