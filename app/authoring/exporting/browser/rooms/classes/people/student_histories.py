"""In place of the histories of students, in a browser: nobody is in a class."""


class StudentDrawing:
    """A person at a drawing; there is none."""


class StudentHistory:
    """What a person has done; there is none."""
