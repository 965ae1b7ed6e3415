/* A voter's rules: claim, append, and what a lost disk leaves. */

/* --- claim: "granted if n > promised.n, or the fence equals promised (retry)" */
#ifdef M_ONE_N_FOR_TWO_SESSIONS
#define NEWER(f, v) (N(f) >= N(voter[v].promised))
#else
#define NEWER(f, v) (N(f) > N(voter[v].promised))
#endif
#ifdef M_RETRY_IS_REFUSED
#define RETRY(f, v) false
#else
#define RETRY(f, v) (voter[v].promised == f)
#endif
/* "an unknown id has no vote" */
#if defined(M_UNKNOWN_ID_VOTES) || defined(M_OLD_COPY_KEEPS_ITS_ID)
#define HAS_VOTE(v) true
#else
#define HAS_VOTE(v) (!voter[v].lost)
#endif
#define WOULD_GRANT(f, v) (HAS_VOTE(v) && (NEWER(f, v) || RETRY(f, v)))

/* "Reply: the tip (fence of the last entry, seq, hash) and committed." */
inline promise(f, v) {
#ifdef M_TIP_FENCE_IS_PROMISED
    voter[v].was[f] = voter[v].promised;
#endif
#ifndef M_GRANT_DOES_NOT_RAISE_PROMISED
    voter[v].promised = f;
#endif
    skip
}
inline grant(f, v) {
    promise(f, v);
    voter[v].tip[f] = voter[v].journal + GRANTED
}

/* --- append: "refused if fence < promised, or after_seq is missing or its hash differs" */
#ifdef M_AFTER_HASH_IS_NOT_COMPARED
#define FITS(f, v, after) (LENGTH(voter[v].journal) >= (after))
#else
#define FITS(f, v, after) SAME(voter[v].journal, owner[f].journal, after)
#endif
#define TAKES(f, v, after, upto) \
    (OWNS(f) && (upto) <= LENGTH(owner[f].journal) && HAS_VOTE(v) && f >= voter[v].promised && FITS(f, v, after))

/* "Otherwise in one transaction": one entry, or none (upto == after: news of `committed`). */
inline append(f, v, after, upto, sent) {
#ifndef M_APPEND_DOES_NOT_RAISE_PROMISED
    voter[v].promised = (f > voter[v].promised -> f : voter[v].promised);
#endif
    put(f, v, after, upto);
    /* "committed = max(committed, min(sent, after_seq + count))" */
#ifdef M_COMMITTED_BEYOND_THE_VERIFIED
    seq = sent;
#else
    seq = LEAST(sent, upto);
#endif
    voter[v].committed = (seq > voter[v].committed -> seq : voter[v].committed);
    seq = 0;
    acknowledge(f, v, upto);
    committed_agree(v);
    commit(f);
#ifdef JOINT
    commit(f); /* what follows a change counts as soon as the change does */
#endif
    skip
}

/* "identical entries are skipped; from the first differing hash on, the uncommitted suffix is cut;
 *  a difference at or below committed halts the voter; entries are added" */
inline put(f, v, after, upto) {
    if
    :: upto > (after) && AT(voter[v].journal, upto) != AT(owner[f].journal, upto) ->
#ifdef M_NOTHING_IS_CUT
        if
        :: LENGTH(voter[v].journal) == (after) -> voter[v].journal = PREFIX(owner[f].journal, upto)
        :: else
        fi
#else
        DEMAND(upto > voter[v].committed, a_difference_at_or_below_committed);
        voter[v].journal = PREFIX(voter[v].journal, after) + (AT(owner[f].journal, upto) << (BITS * (after)))
#endif
    :: else ->
#ifdef M_CUT_WITHOUT_A_DIFFERENCE
        voter[v].journal = PREFIX(voter[v].journal, upto);
#endif
#ifdef M_SKIPPED_ENTRIES_ARE_NOT_COUNTED
        skipped = true;
#endif
        skip
    fi
}

/* "An acknowledgement is (fence, after_seq + count, hash)", "count including the skipped ones" */
inline acknowledge(f, v, upto) {
    if
#ifdef M_SKIPPED_ENTRIES_ARE_NOT_COUNTED
    :: skipped -> skipped = false
#endif
    :: upto > owner[f].knows && upto > voter[v].ack[f] -> voter[v].ack[f] = upto
    :: else
    fi
}

/* --- a disk is lost: what the voter had said may still be under way */
inline wipe(v) {
    wipes++;
    voter[v].lost = true;
#ifdef M_OLD_COPY_KEEPS_ITS_ID
    voter[v].journal = PREFIX(voter[v].journal, 1);
    voter[v].committed = LEAST(voter[v].committed, 1);
    voter[v].promised = LEAST(voter[v].promised, 1)
#else
    voter[v].journal = 0;
    voter[v].committed = 0;
    voter[v].promised = 0
#endif
}
