"""In place of shared pictures, in a browser."""
