"""Pictures of pages, as shown where their addresses are shared."""
