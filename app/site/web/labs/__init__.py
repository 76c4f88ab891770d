"""The lab pages: labs and runs."""
