"""Collectives, simulated chunk by chunk until every rank has what it should have."""
