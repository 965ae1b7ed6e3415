"""Rules of gossip, broken on purpose one at a time, and the test that must notice each.

    python -m tests.simulation.gossip.mutations                          all of them
    python -m tests.simulation.gossip.mutations --only "no refutation"   one, with what its test says

As with the other mutations nothing is written anywhere: a process of its own compiles the broken text and runs the
named test; the same tests pass where nothing is broken. This file must not import what it breaks.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from tests.simulation.mutations.mutation import Edit, Mutation
from tests.simulation.mutations.patch import apply

SIMULATION = "tests/simulation/gossip/test_gossip.py"
UNIT = "tests/unit/gossip/test_"
HEALED = f"{SIMULATION}::test_when_all_is_healed_nobody_that_lives_is_held_for_anything_else"


def broken(name: str, test: str, module: str, old: str, new: str) -> Mutation:
    """One rule of ``bridge.gossip``, and where it must be seen."""
    return Mutation(name, test, (Edit(f"bridge.gossip.{module}", old, new),))


MUTATIONS = (
    broken(
        "one accuser is enough",
        f"{UNIT}roster.py::test_one_accuser_is_not_enough_and_two_are_after_a_while",
        "roster",
        "enough = min(2, len(self.alive) + 1)",
        "enough = 1",
    ),
    broken(
        "who is alone never concludes",
        f"{UNIT}roster.py::test_who_is_alone_comes_to_a_conclusion_by_itself",
        "roster",
        "enough = min(2, len(self.alive) + 1)",
        "enough = 2",
    ),
    broken("no refutation", HEALED, "hearsay", "self.speak(self.me, accused.incarnation)", "pass"),
    broken(
        "a refutation no newer than the accusation",
        f"{UNIT}refutation.py::test_a_life_that_the_disk_has_forgotten_is_outbid_and_stored",
        "hearsay",
        "life, word = max(above, self.me.incarnation)",
        "life, word = self.me.incarnation",
    ),
    broken(
        "suspects are not told",
        f"{UNIT}refutation.py::test_a_healed_partition_is_noticed_though_all_across_were_dead",
        "post",
        "if to is not None and to.accused is not None and to.suspected:",
        "if to is None and to:",
    ),
    broken(
        "the dead are not tried again",
        f"{UNIT}refutation.py::test_a_healed_partition_is_noticed_though_all_across_were_dead",
        "swim",
        "for name in roster.dead.some(1, draws):",
        "for name in roster.dead.some(0, draws):",
    ),
    broken(
        "seeds are given up",
        f"{UNIT}swim.py::test_a_seed_is_greeted_for_ever_until_it_lives",
        "swim",
        "if now_ms >= self._retry_ms:",
        "if now_ms >= self._retry_ms and now_ms < 30_000:",
    ),
    broken(
        "nobody is asked to try",
        f"{UNIT}swim.py::test_who_does_not_hear_one_member_is_pinged_by_others_and_not_suspected",
        "swim",
        "self.roster.alive.some(self._pace.scouts, draws, (prober.target,))",
        "()",
    ),
    broken(
        "who stood still blames the others",
        f"{UNIT}swim.py::test_whoever_stood_still_blames_nobody",
        "swim",
        "if gap > 2 * self._pace.period_ms:",
        "if gap < 0:",
    ),
    broken(
        "a direct answer gives a suspect no time",
        f"{UNIT}roster.py::test_who_answers_directly_gets_its_time_anew",
        "roster",
        "if name in self._suspects:\n            self._suspects[name] = now_ms",
        "pass",
    ),
    broken(
        "confirmations do not shorten a suspicion",
        f"{SIMULATION}::test_a_death_is_concluded_by_all_in_a_logarithm_of_periods_and_its_return_is_seen",
        "pace",
        "return int(high - (high - low) * share)",
        "return int(high)",
    ),
    broken(
        "who misses answers is as fast as before",
        f"{UNIT}swim.py::test_a_slow_answer_counts_and_a_member_that_misses_answers_stretches_its_times",
        "pace",
        "return ms * (1 + self.score)",
        "return ms",
    ),
    broken(
        "a restart is not above what was said before",
        f"{SIMULATION}::test_after_a_restart_of_all_at_once_everybody_knows_everybody",
        "member",
        "key=lambda told: (told.incarnation, told.left, told))",
        "key=lambda told: (told.incarnation.word, told.left, told))",
    ),
    broken(
        "who says good-bye is suspected",
        f"{UNIT}refutation.py::test_who_leaves_says_so_and_is_left_in_peace",
        "member",
        "if member.told.left:",
        "if member.told.left and False:",
    ),
    broken(
        "a stale accuser hears no newer word",
        f"{UNIT}refutation.py::test_who_is_accused_speaks_anew_and_hears_of_it_with_the_next_message",
        "swim",
        "News((self.me,)) if accused else NO_NEWS",
        "NO_NEWS",
    ),
    broken(
        "an end is undone by a higher fence",
        f"{UNIT}owners.py::test_the_highest_fence_owns_and_an_end_stays_an_end",
        "owners",
        "if low.tenure is Tenure.ENDED or (same",
        "if (same",
    ),
    broken(
        "what was forgotten is news again",
        f"{UNIT}owners.py::test_what_was_forgotten_does_not_come_back",
        "owners",
        "and record.stamp <= forgotten",
        "and record.stamp < record.stamp",
    ),
    broken(
        "an owner does not deny what it does not have",
        f"{UNIT}passing_on.py::test_an_owner_that_hears_of_a_handoff_that_it_does_not_have_says_so_to_all",
        "owners",
        "if record.tenure is not Tenure.OWNS:\n                return None",
        "return None",
    ),
    broken(
        "news is passed on for ever",
        f"{UNIT}passing_on.py::test_an_owners_announcements_reach_all_within_a_few_rounds",
        "rumours",
        "if times + 1 >= repeats:",
        "if times + 1 >= 10**9:",
    ),
    broken(
        "old news before new",
        f"{UNIT}rumours.py::test_each_news_is_told_so_often_and_the_least_told_first",
        "rumours",
        "for subject in reversed(level):",
        "for subject in level:",
    ),
    broken(
        "tables are not compared",
        f"{UNIT}passing_on.py::test_what_every_rumour_missed_is_found_by_comparing",
        "exchange",
        "if not of_members and not of_owners:",
        "if True:",
    ),
    broken(
        "the dead are compared",
        f"{UNIT}roster.py::test_who_knows_the_same_living_has_the_same_digest",
        "roster",
        "self._gone[name] = None\n            self.buckets.drop(name)",
        "self._gone[name] = None",
    ),
    broken(
        "what a newcomer learns goes round",
        f"{UNIT}passing_on.py::test_what_does_not_fit_into_one_comparison_follows_at_once",
        "hearsay",
        "if known or not compared or heard.owner == self.me.name:",
        "if True:",
    ),
    broken(
        "what is for another member is answered",
        f"{UNIT}message.py::test_what_is_for_others_is_refused",
        "message",
        'if to not in ("", me):',
        "if to is None:",
    ),
)


def main() -> int:
    """Break each; 1 if one went unnoticed, or if a test fails with nothing broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.gossip.mutations")
    parser.add_argument("--only", help="name of one")
    given = parser.parse_args()
    if given.only is not None:
        mutation = next(each for each in MUTATIONS if each.name == given.only)
        apply(mutation)
        return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", mutation.promise]))
    tests = sorted({each.promise for each in MUTATIONS})
    if pytest.main(["-q", "-p", "no:cacheprovider", *tests]):
        return 1
    missed = 0
    for mutation in MUTATIONS:
        run = [sys.executable, "-m", "tests.simulation.gossip.mutations", "--only", mutation.name]
        status = subprocess.run(run, capture_output=True, check=False).returncode
        caught = status == pytest.ExitCode.TESTS_FAILED
        missed += not caught
        sys.stdout.write(f"{'caught' if caught else f'NOT CAUGHT ({status})':<12} {mutation.name}\n")
        sys.stdout.flush()
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
