/* A candidate's and an owner's rules: adoption, what is committed, what it may write. */

/* --- adoption: "the most advanced journal among the granted tips (last entry's fence, then seq)" */
#define LAST_FENCE(journal) ((journal) != 0 -> FENCE(LAST(journal)) : 0)
#if defined(M_LONGEST_IS_ADOPTED)
#define RANK(f, v) (LENGTH(TIP(f, v)) * 8 + LAST_FENCE(TIP(f, v)))
#elif defined(M_TIP_FENCE_IS_PROMISED)
#define RANK(f, v) (voter[v].was[f] * 8 + LENGTH(TIP(f, v)))
#else
#define RANK(f, v) (LAST_FENCE(TIP(f, v)) * 8 + LENGTH(TIP(f, v)))
#endif
/* "reading exactly the prefix that ends at that (seq, hash)" */
#ifdef M_READS_PAST_THE_TIP
#define READ(f, v) voter[v].journal
#else
#define READ(f, v) TIP(f, v)
#endif
/* "It adopts once per fence, before its first append" */
#ifdef M_ADOPTS_A_LATER_GRANT
#define MAY_ADOPT(f) true
#define TIPS_ARE_USED(f) false
#else
#define MAY_ADOPT(f) (!OWNS(f))
#define TIPS_ARE_USED(f) OWNS(f)
#endif

/* Finds best among the tips that were heard. */
inline most_advanced(f) {
    best = 0;
    rest = 0;
    i = 0;
    do
    :: i < VOTERS && voter[i].tip[f] ->
        if
        :: RANK(f, i) > rest -> rest = RANK(f, i); best = READ(f, i)
        :: RANK(f, i) == rest && rest > 0 -> DEMAND(READ(f, i) == best, one_tip_is_two_journals)
        :: else
        fi;
        i++
    :: i < VOTERS && !voter[i].tip[f] -> i++
    :: i == VOTERS -> break
    od;
    i = 0;
    rest = 0
}

/* It "commits its own `claimed`", which follows what it adopted; "that seals" an adopted terminal. A journal without a
 * `dispatched` is nothing to own: it gives up. */
inline adopt(f) {
    if
    :: best == 0
    :: else ->
        only_owner_of_its_n(f);
        DEMAND(N(FENCE(LAST(best))) < N(f), fences_do_not_grow_along_a_journal);
        owner[f].journal = PLUS(best, ENTRY(f, CLAIMED));
#ifdef M_NO_SEAL_AFTER_AN_ADOPTED_TERMINAL
        if
        :: ENDED(best) -> owner[f].journal = best
        :: else
        fi;
#endif
#ifdef M_ACTS_BEFORE_ITS_CLAIM_COMMITS
        owner[f].knows = LENGTH(best);
        known_entries_survive(f);
#endif
        best = 0
    fi
}

/* "n alone is the exposed token and never shared by two sessions of a handoff" */
inline only_owner_of_its_n(f) {
    i = 1;
    do
    :: i <= FENCES -> DEMAND(i == f || !OWNS(i) || N(i) != N(f), two_sessions_own_one_n); i++
    :: else -> break
    od;
    i = 0
}

/* --- commit: "copies under an older fence never count" */
#if defined(M_A_TIP_IS_AN_ACKNOWLEDGEMENT)
#define ACKED(f, v, k) (voter[v].ack[f] >= k || LENGTH(voter[v].journal) >= k)
#elif defined(M_ACKNOWLEDGEMENTS_OF_ANY_FENCE)
#define ACKED(f, v, k) (voter[v].ack[1] >= k || voter[v].ack[2] >= k || voter[v].ack[3] >= k || voter[v].ack[FENCES] >= k)
#else
#define ACKED(f, v, k) (voter[v].ack[f] >= k)
#endif
#if defined(M_OLDER_COPIES_COUNT)
#define ITS_OWN(f, k) true
#elif defined(M_NO_SEAL_AFTER_AN_ADOPTED_TERMINAL)
#define ITS_OWN(f, k) (FENCE(AT(owner[f].journal, k)) == f || FENCE(LAST(owner[f].journal)) < f)
#else
#define ITS_OWN(f, k) (FENCE(AT(owner[f].journal, k)) == f)
#endif
/* The owner counts what it has just heard: as much as a majority holds. */
inline commit(f) {
    seq = LENGTH(owner[f].journal);
    do
    :: seq > owner[f].knows && !(ITS_OWN(f, seq) && ENOUGH_ACKNOWLEDGE(f, seq)) -> seq--
    :: seq > owner[f].knows && ITS_OWN(f, seq) && ENOUGH_ACKNOWLEDGE(f, seq) ->
        owner[f].knows = seq;
        known_entries_survive(f)
    :: seq <= owner[f].knows -> break
    od;
    seq = 0
}

/* --- the owner's own entries: "only then may it act"; nothing but `claimed` follows a terminal */
#ifdef M_A_CANCEL_DOES_NOT_LOOK
#define OPEN(f, kind) (kind == CANCELED || !ENDED(owner[f].journal))
#else
#define OPEN(f, kind) (!ENDED(owner[f].journal))
#endif
/* Pipelined: it need not wait for what it wrote before. Two bounds: it writes at most `most` entries beside its
 * `claimed`, and leaves room for those of the fences to come. */
#define WROTE(f, most) \
    (LENGTH(owner[f].journal) > (most) && FENCE(AT(owner[f].journal, LENGTH(owner[f].journal) - (most))) == f)
#define HAS_ROOM(f) (LENGTH(owner[f].journal) + FENCES - f < ROOM)
#define MAY_WRITE(f, most) (ACTS(f) && !WROTE(f, most) && HAS_ROOM(f))

inline write(f, kind) { owner[f].journal = PLUS(owner[f].journal, ENTRY(f, kind)) }
