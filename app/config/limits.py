"""The settings that limit what a visitor may send, store and start."""

from pydantic import Field

from app.config.sandbox import SandboxSettings


class LimitSettings(SandboxSettings):
    """Limits per request and per network address."""

    answer_limit: int = Field(default=20_000, gt=0, description="maximum characters per answer")
    body_limit: int = Field(default=1 << 20, gt=0, description="maximum bytes per request body")
    connections_allowed: int = Field(
        default=2048, ge=1, description="maximum open connections per address, except proxies"
    )
    answers_allowed: int = Field(
        default=3600,
        ge=0,
        description="maximum answers, hints and solutions per address and minute; each thousand "
        "characters of an answer count as one more; 0: no limit",
    )
    runs_allowed: int = Field(
        default=300,
        ge=0,
        description="maximum lab runs started per address and hour; 0: no limit",
    )
    sent_runs_allowed: int = Field(
        default=300,
        ge=0,
        description="maximum lab runs uploaded per address and hour; 0: no limit",
    )
    pictures_allowed: int = Field(
        default=60,
        ge=0,
        description="maximum social pictures drawn per address and minute; 0: no limit",
    )
