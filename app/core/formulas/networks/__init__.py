"""Switches, cuts and cables: what a network can carry between its hosts.

*bandwidth* is one direction of one link; a *host* is whatever is attached by one link, such as a
GPU with its own network card.
"""

from app.core.formulas.networks.topologies import *
