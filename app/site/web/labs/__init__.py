"""The lab pages: labs, runs, and boards."""
