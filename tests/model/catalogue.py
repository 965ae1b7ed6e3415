"""What is searched: the models with their bounds, and the rules broken on purpose.

A model is one Promela file and the constants that bound it. A mutation is a flag that breaks one rule, and the
model in which that must show. Only this list says what an exhaustive search covered: a bound that is lowered shows
here.
"""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """A file, its bounds, and what they mean.

    Attributes:
        bounds: macros that the file expects.
        quiet: whether its end is quiet, so that a run which never ends is a fault as well.
    """

    name: str
    file: str
    bounds: tuple[str, ...]
    says: str
    quiet: bool = False


class Mutation(NamedTuple):
    """A rule broken on purpose.

    Attributes:
        flag: the macro that breaks it.
        model: where it must be caught.
        breaks: the property that the checker finds broken first.
    """

    flag: str
    model: Model
    breaks: str


SMALL = Model(
    "small",
    "quorum.pml",
    ("FENCES=3", "FIRST=1", "LATER=1"),
    "3 voters, 3 claims, a lost disk",
)
NEWS = Model(
    "news",
    "quorum.pml",
    ("FENCES=3", "FIRST=1", "LATER=1", "NEWS"),
    "the same, and voters hear what is committed",
)
FOUR = Model(
    "four",
    "quorum.pml",
    ("FENCES=4", "FIRST=1", "LATER=1"),
    "3 voters, 4 claims, a lost disk",
)
TIE = Model(
    "tie",
    "quorum.pml",
    ("FENCES=4", "TIE", "FIRST=1", "LATER=1"),
    "the same; two of the sessions try one n",
)
QUIET = Model(
    "quiet",
    "quorum.pml",
    ("FENCES=3", "FIRST=1", "LATER=0", "NEWS", "QUIET"),
    "3 voters, 3 claims, a lost disk; then quiet: the last one finishes",
    quiet=True,
)
PAIR = Model(
    "pair",
    "pair.pml",
    ("FENCES=4", "FIRST=2", "LATER=2", "CRASHES_MOST=1"),
    "the other host is the only voter, crashes, may lose its disk; then quiet",
    quiet=True,
)
JOINT = Model(
    "joint",
    "joint.pml",
    ("FENCES=3", "FIRST=1", "LATER=0", "WIPES_MOST=0"),
    "voters 0, 1, 2 become 1, 2, 3; 3 claims",
)
AFTER = Model(
    "after",
    "joint.pml",
    ("FENCES=2", "BEGUN", "FIRST=0", "LATER=1", "WIPES_MOST=1"),
    "2 claims, a lost disk; an event follows the change before anybody has heard of either",
)

MODELS = (SMALL, NEWS, FOUR, TIE, QUIET, PAIR, JOINT, AFTER)

MISSING = "a_known_entry_is_missing_at_a_later_owner"
MUTATIONS = (
    Mutation("M_APPEND_DOES_NOT_RAISE_PROMISED", FOUR, "fences_do_not_grow_along_a_journal"),
    Mutation("M_GRANT_DOES_NOT_RAISE_PROMISED", SMALL, MISSING),
    Mutation("M_RETRY_IS_REFUSED", QUIET, "no_progress_though_all_is_quiet"),
    Mutation("M_ONE_N_FOR_TWO_SESSIONS", TIE, "two_sessions_own_one_n"),
    Mutation("M_UNKNOWN_ID_VOTES", SMALL, MISSING),
    Mutation("M_OLD_COPY_KEEPS_ITS_ID", SMALL, MISSING),
    Mutation("M_AFTER_HASH_IS_NOT_COMPARED", SMALL, MISSING),
    Mutation("M_COMMITTED_BEYOND_THE_VERIFIED", NEWS, "a_voter_is_committed_beyond_its_journal"),
    Mutation("M_NOTHING_IS_CUT", SMALL, MISSING),
    Mutation("M_CUT_WITHOUT_A_DIFFERENCE", SMALL, MISSING),
    Mutation("M_SKIPPED_ENTRIES_ARE_NOT_COUNTED", QUIET, "no_progress_though_all_is_quiet"),
    Mutation("M_NOBODY_HEARS_WHAT_IS_COMMITTED", QUIET, "no_progress_though_all_is_quiet"),
    Mutation("M_LONGEST_IS_ADOPTED", FOUR, MISSING),
    Mutation("M_TIP_FENCE_IS_PROMISED", FOUR, "one_tip_is_two_journals"),
    Mutation("M_READS_PAST_THE_TIP", SMALL, "fences_do_not_grow_along_a_journal"),
    Mutation("M_ADOPTS_A_LATER_GRANT", SMALL, "fences_do_not_grow_along_a_journal"),
    Mutation("M_NO_SEAL_AFTER_AN_ADOPTED_TERMINAL", FOUR, MISSING),
    Mutation("M_ACTS_BEFORE_ITS_CLAIM_COMMITS", SMALL, MISSING),
    Mutation("M_OLDER_COPIES_COUNT", FOUR, MISSING),
    Mutation("M_A_TIP_IS_AN_ACKNOWLEDGEMENT", SMALL, MISSING),
    Mutation("M_ACKNOWLEDGEMENTS_OF_ANY_FENCE", FOUR, MISSING),
    Mutation("M_A_CANCEL_DOES_NOT_LOOK", SMALL, "a_second_terminal"),
    Mutation("M_UNKNOWN_ID_VOTES", PAIR, MISSING),
    Mutation("M_A_COMMITS_ALONE_WHILE_B_IS_AWAY", PAIR, MISSING),
    Mutation("M_COMMIT_BY_THE_OLD_MAJORITY", JOINT, MISSING),
    Mutation("M_COMMIT_BY_THE_NEW_MAJORITY", JOINT, MISSING),
    Mutation("M_ENTRIES_AFTER_IT_COUNT_EARLY", AFTER, MISSING),
    Mutation("M_CLAIM_BY_THE_OLD_MAJORITY", JOINT, MISSING),
    Mutation("M_CLAIM_BY_THE_NEW_MAJORITY", JOINT, MISSING),
)
