/* "Joint rule for `voters`": one handoff whose voters 0, 1, 2 become 1, 2, 3, by three sessions, with every crash.
 *
 * The entry that changes the set is COMPLETED's code here, called CHANGE: the rules that look for a terminal then look
 * for it. FIRST and LATER bound what an owner writes beside its `claimed`. BEGUN: the first
 * has written the change and an event after it, and nobody has heard of either yet. */
#define VOTERS 4
#define MAJORITY 2 /* of either set */
#define N(f) (f)
#define SWAPS {1, 2}
#define OTHER_STEP other_step()
#define JOINT
#define CHANGE COMPLETED
#define CHANGES(journal) ((journal) & TERMINALS)
#define CHANGE_AT(journal) LENGTH(CHANGES(journal))

/* "until committed covers it, every claim and commit on a journal that holds it needs majorities of the old set and of
 *  the new one" */
#define COVERED(journal, committed) (CHANGES(journal) && (committed) >= CHANGE_AT(journal))
#define HELD(f) owner[f].journal
#define COMMITTED(f) ((owner[f].knows > owner[f].told) -> owner[f].knows : owner[f].told)
#if defined(M_COMMIT_BY_THE_OLD_MAJORITY)
#define OLD_COMMITS(f, k) (!COVERED(HELD(f), COMMITTED(f)))
#define NEW_COMMITS(f, k) COVERED(HELD(f), COMMITTED(f))
#elif defined(M_COMMIT_BY_THE_NEW_MAJORITY)
#define OLD_COMMITS(f, k) (!CHANGES(HELD(f)))
#define NEW_COMMITS(f, k) CHANGES(HELD(f))
#elif defined(M_ENTRIES_AFTER_IT_COUNT_EARLY)
#define OLD_COMMITS(f, k) (!CHANGES(HELD(f)) || k <= CHANGE_AT(HELD(f)) && !COVERED(HELD(f), COMMITTED(f)))
#define NEW_COMMITS(f, k) CHANGES(HELD(f))
#else
#define OLD_COMMITS(f, k) (!COVERED(HELD(f), COMMITTED(f)))
#define NEW_COMMITS(f, k) CHANGES(HELD(f))
#endif
#define OLD_ACKED(f, k) ((ACKED(f, 0, k) + ACKED(f, 1, k) + ACKED(f, 2, k)) >= MAJORITY)
#define NEW_ACKED(f, k) ((ACKED(f, 1, k) + ACKED(f, 2, k) + ACKED(f, 3, k)) >= MAJORITY)
#define ENOUGH_ACKNOWLEDGE(f, k) \
    ((!OLD_COMMITS(f, k) || OLD_ACKED(f, k)) && (!NEW_COMMITS(f, k) || NEW_ACKED(f, k)))
#define ONE_TERMINAL(f) skip
#include "rules.pml"
#include "order.pml"
#include "steps.pml"

/* "a candidate whose adopted journal names more sets collects those grants and adopts again before its first append":
 * whatever order it asks in, in the end the most advanced tip that it heard names no set that is missing. */
#define GRANTS(f, v) (voter[v].tip[f] != 0)
#define OLD_GRANTED(f) ((GRANTS(f, 0) + GRANTS(f, 1) + GRANTS(f, 2)) >= MAJORITY)
#define NEW_GRANTED(f) ((GRANTS(f, 1) + GRANTS(f, 2) + GRANTS(f, 3)) >= MAJORITY)
#define HEARD(f) owner[f].heard
#if defined(M_CLAIM_BY_THE_OLD_MAJORITY)
#define ENOUGH_GRANT(f) OLD_GRANTED(f)
#elif defined(M_CLAIM_BY_THE_NEW_MAJORITY)
#define ENOUGH_GRANT(f) (CHANGES(HEARD(f)) -> NEW_GRANTED(f) : OLD_GRANTED(f))
#else
#define ENOUGH_GRANT(f) \
    ((COVERED(HEARD(f), owner[f].told) || OLD_GRANTED(f)) && (!CHANGES(HEARD(f)) || NEW_GRANTED(f)))
#endif
#define MORE_ADVANCED(a, b) (LAST_FENCE(a) * 8 + LENGTH(a) > LAST_FENCE(b) * 8 + LENGTH(b))

/* It may have heard enough and yet wait for one more grant; of the grants it keeps what it needs. */
inline claim(f, v) {
    promise(f, v);
    voter[v].tip[f] = GRANTED;
    if
    :: MORE_ADVANCED(voter[v].journal, HEARD(f)) -> HEARD(f) = voter[v].journal
    :: else
    fi;
    owner[f].told = ((voter[v].committed > owner[f].told) -> voter[v].committed : owner[f].told);
    if
    :: rule == CLAIMS_ENOUGH && HEARD(f) && ENOUGH_GRANT(f) -> best = HEARD(f); HEARD(f) = 0; adopt(f)
    :: else
    fi
}
inline other_step() {
    if
    :: rule == CLAIMS_ENOUGH -> claim(who, where)
    fi
}
/* A candidate of whom no tip can matter any more keeps nothing of them. */
inline settle_candidate(f) {
    if
    :: !OWNS(f) && !(GRANTS(f, 0) || GRANTS(f, 1) || GRANTS(f, 2) || GRANTS(f, 3)) -> HEARD(f) = 0; owner[f].told = 0
    :: else
    fi
}

#define JOINT_CLAIM(f, v) \
    CLAIM(f, v) PICK(!OWNS(f) && voter[v].tip[f] == 0 && WOULD_GRANT(f, v), f, v, 0, CLAIMS_ENOUGH)
#define CLAIMING(f) JOINT_CLAIM(f, 0) JOINT_CLAIM(f, 1) JOINT_CLAIM(f, 2) JOINT_CLAIM(f, 3)
/* Of what is committed, rules look only at whether it covers the change: no other news are told. */
#define TELL_CHANGE(f, v, k) PICK(k == CHANGE_AT(HELD(f)) && owner[f].knows >= k && TAKES(f, v, k, k), f, v, k, TELLS)
#define OWNING_AT(f, v) APPENDING(f, v) TELL_CHANGE(f, v, 2) TELL_CHANGE(f, v, 3) TELL_CHANGE(f, v, 4)
#define OWNING(f) OWNING_AT(f, 0) OWNING_AT(f, 1) OWNING_AT(f, 2) OWNING_AT(f, 3)
/* "no second change meanwhile": nor later, in this model. */
#define WRITING(f, most) \
    PICK(MAY_WRITE(f, most), f, EVENT, 0, WRITES) PICK(MAY_WRITE(f, most) && !CHANGES(HELD(f)), f, CHANGE, 0, WRITES)
#define WIPE(v) PICK(wipes < WIPES_MOST, 0, v, 0, LOSES_ITS_DISK)

/* `dispatched`, which names the old set, is committed: what quorum.pml looks at is not looked at again. */
inline begin() {
    owner[1].journal = ENTRY(1, CLAIMED);
    owner[1].knows = 1;
#ifdef BEGUN
    write(1, CHANGE);
    write(1, EVENT);
#endif
    i = 0;
    do
    :: i < 3 -> voter[i].journal = ENTRY(1, CLAIMED); voter[i].promised = 1; i++
    :: else -> break
    od;
    i = 0
}

active proctype world() {
    d_step { begin() }
end:
    do
    :: atomic {
        if
        OWNING(1) WRITING(1, FIRST) CLAIMING(2) OWNING(2) WRITING(2, LATER)
#if FENCES > 2
        CLAIMING(3) OWNING(3)
#endif
        WIPE(0) WIPE(1) WIPE(2) WIPE(3)
        fi;
        d_step { step() }
       }
    od
}
