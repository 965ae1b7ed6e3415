"""What an operator may choose about the front."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FrontSettings:
    """Limits and intervals of the client-facing side.

    Attributes:
        public_url: where clients reach this sidecar; all URLs in the card stand below it.
        keep_alive_s: silence after which a stream or a waiting answer shows that it lives. Stock clients give up
            after 5 s: half of it leaves room for a lost packet; less costs traffic.
        request_bytes_max: larger requests are refused unread.
        card_max_age_s: how long clients may use a card without asking again.
        absent_s: how long a request for an extended card waits for an agent that is away.
    """

    public_url: str
    keep_alive_s: float = 2.0
    request_bytes_max: int = 64 << 20
    card_max_age_s: int = 60
    absent_s: float = 4.0
