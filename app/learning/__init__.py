"""A model of what a learner remembers, mastery of chapters and skills, and what to do next."""

from app.learning.mastery import Mastery, mastery_by_skill, mastery_of
from app.learning.memory import Memory, Review, memories
from app.learning.prerequisites import Prerequisites
from app.learning.reviews import ReviewSession, review_session
from app.learning.suggestions import Suggestion, due_exercises, onward

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
    "onward",
    "review_session",
]
