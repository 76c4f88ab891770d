"""The course as a whole: its map, the placement, the final, and schedules in addresses."""
