"""The search over the whole site."""
