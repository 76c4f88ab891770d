"""The code that runs inside the component; it uses the standard library only."""
