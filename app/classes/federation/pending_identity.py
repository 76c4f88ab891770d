"""An identity whose person is still asked for, in a signed cookie."""

from dataclasses import astuple, dataclass

from itsdangerous import BadSignature, URLSafeTimedSerializer

PATIENCE = 600  # seconds


@dataclass(frozen=True, slots=True)
class Pending:
    """A proven identity, and where its person goes next; *person*: who was signed in before."""

    issuer: str
    subject: str
    next: str
    person: int = 0

    def signed(self, secret: str, person: int) -> str:
        """Itself as a cookie of a browser in which *person* is signed in."""
        return _signer(secret).dumps((*astuple(self)[:3], person))

    @classmethod
    def read(cls, cookie: str, secret: str) -> "Pending | None":
        """What a cookie holds; None if it is not valid or too old."""
        try:
            return cls(*_signer(secret).loads(cookie, max_age=PATIENCE))
        except (BadSignature, TypeError):
            return None


def _signer(secret: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(secret, salt="wallclock.identity")
