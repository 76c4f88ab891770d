"""Guess the step: one question per day."""
