"""How fast gossip goes, each number with its formula and what less or more of it costs.

The formulas are those of SWIM (Das, Gupta, Motivala 2002) and of Lifeguard (Dadgar, Phillips, Currey 2018), the
numbers those that memberlist runs with on local networks; what was measured with them stands in docs/decisions.
How fast a failure is noticed and when a member is forgotten are separate things: nothing here forgets.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, log10

from bridge.gossip.member import ACCUSERS_MAX


@dataclass(frozen=True, slots=True)
class Pace:
    """The knobs. All times in milliseconds; what counts messages is per member, whatever the cluster's size.

    Attributes:
        period_ms: one probe each. Less: earlier suspicion, more messages; more: the reverse. A failure is noticed
            by somebody after 1.6 periods on average (e/(e-1)), in a cluster of any size.
        answer_ms: what a direct answer may take, half a period. Less: more detours by others when the network is
            slow; more: less time for the detour.
        scouts: others that are asked to try. With loss p of a message a living member fails all paths with
            p' = (1-(1-p)^2) * (1-(1-p)^4)^scouts. More: fewer false accusations, more messages at a failure.
        spread_ms: while there is news, it is sent this often ...
        spread_to: ... to so many. All have it after about log(n)/log(1 + spread_to) rounds. Nothing is sent where
            there is no news. More of either: faster, and more messages under load.
        compare_ms: one comparison of tables with somebody (anti-entropy): 3 small numbers where nothing differs.
            Less: what was lost is repaired earlier.
        revive_ms: one ping to somebody dead, for ever: so a healed partition is noticed within this.
        retry_ms: one greeting to a seed that is not known to live, for ever; each period while nobody is known.
        suspicion: an accused member has at least suspicion * max(1, log10(n)) periods to refute ...
        patience: ... and this many times as long while only one accuses it. Less of either: earlier deaths, more
            of them false.
        repeats: each news is passed on repeats * ceil(log10(n + 1)) times by each. Less: some are left to the
            comparison; more: bytes for nothing.
        slowness_max: a member that misses answers stretches its times up to 1 + this.
        checkers: how many others look at once after a member that is newly accused, on average.
    """

    period_ms: int = 1_000
    answer_ms: int = 500
    scouts: int = 3
    spread_ms: int = 200
    spread_to: int = 3
    compare_ms: int = 10_000
    revive_ms: int = 5_000
    retry_ms: int = 10_000
    suspicion: int = 4
    patience: int = 6
    repeats: int = 4
    slowness_max: int = 8
    checkers: int = 3

    def suspicion_ms(self, members: int, accusers: int) -> int:
        """How long an accused member has to refute: less with every accuser that found the same by itself.

        Args:
            members: that live or are suspected, with this one and the accused.
            accusers: names that accuse it.
        """
        low = self.suspicion * max(1.0, log10(members)) * self.period_ms
        wanted = min(ACCUSERS_MAX - 1, members - 2)  # confirmations that can come
        if wanted < 1:
            return int(low)
        high = self.patience * low
        share = min(1.0, log(max(1, accusers)) / log(wanted + 1))
        return int(high - (high - low) * share)

    def repeats_of(self, members: int) -> int:
        """How often each member passes one news on."""
        return self.repeats * ceil(log10(members + 1))


class Slowness:
    """Lifeguard's local health: who misses answers may be slow itself, and gives others more time.

    Args:
        pace: the knobs.

    Attributes:
        score: 0 for a member whose probes are answered.
    """

    def __init__(self, pace: Pace) -> None:
        self.score = 0
        self._most = pace.slowness_max

    def change(self, by: int) -> None:
        """More: an answer was missed, an accusation had to be refuted; less: a probe was answered."""
        self.score = min(self._most, max(0, self.score + by))

    def stretched(self, ms: int) -> int:
        """A time as it is for this member now."""
        return ms * (1 + self.score)
