"""Kinds about programs: write a function, find the line at fault; and what they share."""
