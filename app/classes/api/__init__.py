"""Classes over the JSON interface, with tokens of scope class or admin."""
