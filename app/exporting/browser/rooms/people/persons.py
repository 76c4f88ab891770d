"""In place of persons, in a browser: nobody is signed in."""


class SignedIn:
    """A person, for annotations."""
