/* "Two hosts (pair): the only voter of A's handoffs is B." Host A dispatched; A's sessions have the odd fences and reach
 * the voter over the network, B's have the even ones and die with it. B crashes and boots again, up to CRASHES_MOST times.
 *
 * FIRST and LATER bound what an owner writes beside its `claimed`. Then all is quiet, B is up, and its last session, or
 * A's, must finish, unless the one voter's disk is lost: then the handoff waits for ever, and is never answered wrongly. */
#define VOTERS 1
#define MAJORITY 1
#define N(f) (f)
#define ENOUGH_ACKNOWLEDGE(f, k) ACKED(f, 0, k)
#define TIPS(f) (voter[0].tip[f] != 0)
#define SWAPS {0, 0}
#define OTHER_STEP other_step()
#define NEWS
#define ONE_TERMINAL(f) one_terminal(f)
#include "rules.pml"
#include "order.pml"
#include "steps.pml"

bool down;
byte crashes;
#define OF_A(f) ((f) & 1)
/* A session of B is one boot: fence 2 is the first one's, 4 the second one's. */
#define LIVES(f) (OF_A(f) || (!down && f == 2 * (crashes + 1)))

inline other_step() {
    if
    :: rule == CRASHES -> down = true
    :: rule == BOOTS -> down = false; crashes++
    :: rule == COUNTS_ITSELF -> owner[who].knows = LENGTH(owner[who].journal); known_entries_survive(who)
    fi
}

/* "if B is away, A's handoffs wait for it": what needs the voter needs B. */
#define UP(f) (!down && LIVES(f))
#define PAIR_CLAIM(f) PICK(UP(f) && MAY_ADOPT(f) && WOULD_GRANT(f, 0), f, 0, 0, CLAIMS)
#define PAIR_UNHEARD(f) PICK(UP(f) && OF_A(f) && voter[0].promised != f && WOULD_GRANT(f, 0), f, 0, 0, CLAIMS_UNHEARD)
#define PAIR_APPEND(f, k) \
    PICK(UP(f) && TAKES(f, 0, k - 1, k), f, 0, k, APPENDS) \
    PICK(UP(f) && ACTS(f) && TAKES(f, 0, k, k), f, 0, k, TELLS)
#define PAIR_WRITE(f, kind, most) PICK(LIVES(f) && MAY_WRITE(f, most) && OPEN(f, kind), f, kind, 0, WRITES)
#define OWNING(f) \
    PAIR_APPEND(f, 1) PAIR_APPEND(f, 2) PAIR_APPEND(f, 3) PAIR_APPEND(f, 4) PAIR_APPEND(f, 5) PAIR_APPEND(f, 6)
#define CLAIMING(f) PAIR_CLAIM(f) PAIR_UNHEARD(f)
#define YES(f) SAYS_YES(f, 0)
#define NOTHING_LEFT (voter[0].journal == 0)

active proctype world() {
    d_step { owner[1].journal = ENTRY(1, CLAIMED) }
progress:
    do
    :: atomic {
        if
        OWNING(1) PAIR_WRITE(1, EVENT, FIRST) PAIR_WRITE(1, COMPLETED, FIRST)
        CLAIMING(2) OWNING(2) PAIR_WRITE(2, EVENT, LATER) PAIR_WRITE(2, CANCELED, LATER)
        CLAIMING(3) OWNING(3) PAIR_WRITE(3, EVENT, LATER) PAIR_WRITE(3, CANCELED, LATER)
        CLAIMING(4) OWNING(4) PAIR_WRITE(4, EVENT, LATER) PAIR_WRITE(4, CANCELED, LATER)
        PICK(!down, 0, 0, 0, CRASHES) PICK(down && crashes < CRASHES_MOST, 0, 0, 0, BOOTS)
        PICK(wipes == 0 && down, 0, 0, 0, LOSES_ITS_DISK)
#ifdef M_A_COMMITS_ALONE_WHILE_B_IS_AWAY
        PICK(down && OWNS(1), 1, 0, 0, COUNTS_ITSELF) PICK(down && OWNS(3), 3, 0, 0, COUNTS_ITSELF)
#endif
        fi;
        d_step { step() }
       }
    :: d_step { true -> fall_quiet(); down = false; printf("rule QUIET 0 0 0\n"); picture(); ORDER } break
    od;
    do
    :: atomic {
        if
        QUIET_AT(FENCES, 0) PICK(!voter[0].lost && MAY_WRITE(FENCES, ROOM) && OPEN(FENCES, CANCELED), FENCES, CANCELED, 0, WRITES)
        :: else -> break
        fi;
        d_step { step() }
       }
    od;
    DEMAND(voter[0].lost || NOTHING_LEFT || (FINISHED(FENCES) && WHOLE(FENCES, 0)),
           no_progress_though_all_is_quiet)
}
