"""The pages of classes: for teachers, assistants and students."""

KEYS = "/lti/jwks"  # for anyone, where pages of persons are for these
ROSTER_LIMIT = 4 << 20  # bytes of a roster: 10,000 lines of 400 bytes
