"""A model of what a learner remembers, mastery of chapters and skills, and what to do next."""

from app.course.learning.reviews import (
    Mastery,
    Memory,
    Prerequisites,
    Review,
    ReviewSession,
    Suggestion,
    due_exercises,
    mastery_by_skill,
    mastery_of,
    memories,
    next_exercise,
    review_session,
)

__all__ = [
    "Mastery",
    "Memory",
    "Prerequisites",
    "Review",
    "ReviewSession",
    "Suggestion",
    "due_exercises",
    "mastery_by_skill",
    "mastery_of",
    "memories",
    "next_exercise",
    "review_session",
]
