/* What must hold, whatever happens: invariants of the page, each under a name that the verifier prints if it breaks. */
bool a_known_entry_is_missing_at_a_later_owner;
bool two_sessions_own_one_n;
bool one_tip_is_two_journals;
bool fences_do_not_grow_along_a_journal;
bool a_second_terminal;
bool an_entry_after_the_terminal;
bool committed_prefixes_differ;
bool a_difference_at_or_below_committed;
bool a_voter_is_committed_beyond_its_journal;
bool no_progress_though_all_is_quiet;
#define DEMAND(condition, broken) \
    if \
    :: (condition) \
    :: else -> broken = true; assert(!broken) \
    fi

int best, rest;
byte i, j, seq, heard_by;
#ifdef M_SKIPPED_ENTRIES_ARE_NOT_COUNTED
bool skipped;
#endif

/* Every entry known as committed (or shown) is in every later owner's journal. */
inline known_entries_survive(f) {
    i = 1;
    do
    :: i <= FENCES && ACTS(i) && i < f ->
        DEMAND(SAME(owner[f].journal, owner[i].journal, owner[i].knows), a_known_entry_is_missing_at_a_later_owner);
        i++
    :: i <= FENCES && ACTS(i) && i > f ->
        DEMAND(SAME(owner[f].journal, owner[i].journal, owner[f].knows), a_known_entry_is_missing_at_a_later_owner);
        i++
    :: i <= FENCES && (!ACTS(i) || i == f) -> i++
    :: i > FENCES -> break
    od;
    i = 0
}

/* One terminal, final; only `claimed` may follow it. */
inline one_terminal(f) {
    rest = (owner[f].journal & TERMINALS);
    DEMAND((rest & (rest - 1)) == 0, a_second_terminal);
    DEMAND(rest == 0 || (owner[f].journal & EVENTS & ~(2 * rest - 1)) == 0, an_entry_after_the_terminal);
    rest = 0
}

/* Committed prefixes of any two voters agree. */
inline committed_agree(v) {
    DEMAND(voter[v].committed <= LENGTH(voter[v].journal), a_voter_is_committed_beyond_its_journal);
    i = 0;
    do
    :: i < VOTERS ->
        DEMAND(SAME(voter[v].journal, voter[i].journal, LEAST(voter[v].committed, voter[i].committed)),
               committed_prefixes_differ);
        i++
    :: else -> break
    od;
    i = 0
}
