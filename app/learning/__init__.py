"""What a learner remembers, what that makes of chapters and skills, and what to do next."""

from app.learning.mastery import Mastery, mastery_by_skill, mastery_of
from app.learning.memory import Day, Memory, memories
from app.learning.suggesting import Suggestion, due, suggestion

__all__ = [
    "Day", "Mastery", "Memory", "Suggestion", "due", "mastery_by_skill", "mastery_of", "memories",
    "suggestion",
]  # fmt: skip
