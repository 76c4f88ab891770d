"""A model of what a learner remembers, mastery of chapters and skills, and what to do next."""

from app.course.learning.mastery import Mastery, mastery_by_skill, mastery_of
from app.course.learning.memory import Memory, Review, memories
from app.course.learning.prerequisites import Prerequisites
from app.course.learning.reviews import ReviewSession, review_session
from app.course.learning.suggestions import Suggestion, due_exercises, onward

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
