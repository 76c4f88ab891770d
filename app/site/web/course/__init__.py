"""The course as a whole: its map, the placement, the final, and boards of schedules."""
