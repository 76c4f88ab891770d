"""Checks of content for authors: lint, proofs and preview."""
