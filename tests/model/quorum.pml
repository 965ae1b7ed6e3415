/* One handoff, three voters, one set of them, and up to FENCES claims by as many sessions.
 *
 * FIRST and LATER bound what an owner writes beside its `claimed`. NEWS: voters hear what is committed. TIE: two
 * sessions try one n. QUIET: at any time nothing fails any more, and the last claimant must finish. */
#define VOTERS 3
#define MAJORITY 2
#ifdef TIE
#define N(f) ((f) > 2 -> (f) - 1 : (f))
#else
#define N(f) (f)
#endif
#define ENOUGH_ACKNOWLEDGE(f, k) ((ACKED(f, 0, k) + ACKED(f, 1, k) + ACKED(f, 2, k)) >= MAJORITY)
#define TIPS(f) ((voter[0].tip[f] != 0) + (voter[1].tip[f] != 0) + (voter[2].tip[f] != 0))
#define SWAPS {0, 1}, {1, 2}, {0, 1}
#define OTHER_STEP skip
#define ONE_TERMINAL(f) one_terminal(f)
#include "rules.pml"
#include "order.pml"
#include "steps.pml"

#define WIPE(v) PICK(wipes == 0, 0, v, 0, LOSES_ITS_DISK)
#define OWNING(f) APPENDING(f, 0) APPENDING(f, 1) APPENDING(f, 2)
#define CLAIMING(f) CLAIM(f, 0) CLAIM(f, 1) CLAIM(f, 2)
#define YES(f) (SAYS_YES(f, 0) + SAYS_YES(f, 1) + SAYS_YES(f, 2))
#define NOTHING_LEFT (voter[0].journal == 0 && voter[1].journal == 0 && voter[2].journal == 0)

active proctype world() {
    d_step { owner[1].journal = ENTRY(1, CLAIMED) }
#ifdef QUIET
progress:
#else
end:
#endif
    do
    :: atomic {
        if
        OWNING(1) WRITE(1, EVENT, FIRST) WRITE(1, COMPLETED, FIRST)
        CLAIMING(2) OWNING(2) WRITE(2, EVENT, LATER) WRITE(2, CANCELED, LATER)
        CLAIMING(3) OWNING(3) WRITE(3, EVENT, LATER) WRITE(3, CANCELED, LATER)
#if FENCES > 3
        CLAIMING(4) OWNING(4) WRITE(4, CANCELED, LATER)
#endif
        WIPE(0) WIPE(1) WIPE(2)
        fi;
        d_step { step() }
       }
#ifdef QUIET
    :: d_step { true -> printf("rule QUIET 0 0 0\n"); fall_quiet(); picture(); ORDER } break
#endif
    od;
    do
    :: atomic {
        if
        QUIET_AT(FENCES, 0) QUIET_AT(FENCES, 1) QUIET_AT(FENCES, 2) WRITE(FENCES, CANCELED, ROOM)
        :: else -> break
        fi;
        d_step { step() }
       }
    od;
    DEMAND(NOTHING_LEFT || (FINISHED(FENCES) && WHOLE(FENCES, 0) && WHOLE(FENCES, 1) && WHOLE(FENCES, 2)),
           no_progress_though_all_is_quiet)
}
