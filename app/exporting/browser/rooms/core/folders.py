"""In place of the folders of an installation, in a browser: where the course is."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
