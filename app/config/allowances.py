"""The settings of what an address may ask for."""

from pydantic import Field

from app.config.sandbox import SandboxSettings


class AllowanceSettings(SandboxSettings):
    """Limits per network address; an IPv6 network of 64 bits counts as one."""

    processor_allowed: int = Field(
        default=40,
        ge=0,
        description="maximum seconds of processor time per address and minute, and per person who "
        "is signed in; 0: no limit",
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
    storage_allowed: int = Field(
        default=100_000_000,
        ge=0,
        description="maximum bytes that are stored per address and day, and per person who is "
        "signed in; 0: no limit",
    )
