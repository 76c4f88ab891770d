"""The pages that a browser makes by itself."""
