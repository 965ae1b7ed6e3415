/* What can happen to one set of voters, each rule for every fence, voter and seq for which its guard holds. */
mtype = {CLAIMS, CLAIMS_UNHEARD, CLAIMS_ENOUGH, APPENDS, TELLS, WRITES, LOSES_ITS_DISK, CRASHES, BOOTS, COUNTS_ITSELF};
mtype rule;
byte who, where, which;
#define PICK(guard, a, b, c, name) :: d_step { guard -> who = a; where = b; which = c; rule = name }

/* A claim arrives at a voter; its reply is heard, or lost. */
#define CLAIM(f, v) \
    PICK(MAY_ADOPT(f) && voter[v].tip[f] == 0 && WOULD_GRANT(f, v), f, v, 0, CLAIMS) \
    PICK(voter[v].promised != f && WOULD_GRANT(f, v), f, v, 0, CLAIMS_UNHEARD)
/* One entry arrives: what a longer append does, several of these do. */
#define APPEND(f, v, k) PICK(TAKES(f, v, k - 1, k), f, v, k, APPENDS)
/* "After each commit followers hear the new `committed` even when nothing follows" */
#ifdef NEWS
#define TELL(f, v, k) PICK(ACTS(f) && TAKES(f, v, k, k), f, v, k, TELLS)
#else
#define TELL(f, v, k)
#endif
#define WRITE(f, kind, most) PICK(MAY_WRITE(f, most) && OPEN(f, kind), f, kind, 0, WRITES)

#define APPENDING(f, v) \
    APPEND(f, v, 1) APPEND(f, v, 2) APPEND(f, v, 3) APPEND(f, v, 4) APPEND(f, v, 5) APPEND(f, v, 6) \
    TELL(f, v, 1) TELL(f, v, 2) TELL(f, v, 3) TELL(f, v, 4) TELL(f, v, 5) TELL(f, v, 6)

/* A candidate adopts as soon as it has heard enough grants: nobody can see when it does. */
#ifndef JOINT
inline claim(f, v) {
    grant(f, v);
    if
    :: TIPS(f) >= MAJORITY -> most_advanced(f); adopt(f)
    :: else
    fi
}
#endif

inline step() {
    printf("rule %e %d %d %d\n", rule, who, where, which); /* a verifier does not print: for trails */
    if
    :: rule == CLAIMS -> claim(who, where)
    :: rule == CLAIMS_UNHEARD -> promise(who, where)
    :: rule == APPENDS -> append(who, where, which - 1, which, 0)
    :: rule == TELLS -> append(who, where, which, which, owner[who].knows)
    :: rule == WRITES -> write(who, where); ONE_TERMINAL(who)
    :: rule == LOSES_ITS_DISK -> wipe(where)
    :: else -> OTHER_STEP
    fi;
    settle();
    picture();
    rule = 0;
    who = 0;
    where = 0;
    which = 0;
    ORDER
}

/* The quiet end: only the last claimant acts, nothing is lost, and whatever it does has an effect. Where nothing is
 * left of a handoff that nobody was told of, it gives up. */
#define SAYS_YES(f, v) (WOULD_GRANT(f, v) -> 1 : 0) /* "pre-vote: would you grant? changes nothing" */
#define QUIET_CLAIM(f, v) \
    PICK(!OWNS(f) && !NOTHING_LEFT && voter[v].tip[f] == 0 && YES(f) >= MAJORITY && WOULD_GRANT(f, v), f, v, 0, CLAIMS)
#define LACKS(f, v, k) \
    (AT(voter[v].journal, k) != AT(owner[f].journal, k) || \
     (k == LENGTH(owner[f].journal) && k > owner[f].knows && voter[v].ack[f] < k))
#define QUIET_APPEND(f, v, k) PICK(TAKES(f, v, k - 1, k) && LACKS(f, v, k), f, v, k, APPENDS)
#ifdef M_NOBODY_HEARS_WHAT_IS_COMMITTED
#define QUIET_TELL(f, v)
#else
#define QUIET_TELL(f, v) \
    PICK(ACTS(f) && TAKES(f, v, LENGTH(owner[f].journal), LENGTH(owner[f].journal)) && \
         voter[v].committed < owner[f].knows, f, v, LENGTH(owner[f].journal), TELLS)
#endif
#define QUIET_AT(f, v) \
    QUIET_CLAIM(f, v) QUIET_APPEND(f, v, 1) QUIET_APPEND(f, v, 2) QUIET_APPEND(f, v, 3) QUIET_APPEND(f, v, 4) \
    QUIET_APPEND(f, v, 5) QUIET_APPEND(f, v, 6) QUIET_TELL(f, v)

/* Every voter that has its disk has the whole journal, with its terminal (or at its bound), as committed. */
#define WHOLE(f, v) (voter[v].lost || (voter[v].journal == owner[f].journal && voter[v].committed == owner[f].knows))
#define FINISHED(f) \
    (owner[f].knows == LENGTH(owner[f].journal) && (ENDED(owner[f].journal) || LENGTH(owner[f].journal) == ROOM))
