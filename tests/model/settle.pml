/* What is no rule: forgetting what cannot matter, the end of all faults, pictures for people. */

/* --- what cannot matter any more is forgotten, so that states do not differ in it */
#define HEARS(f, v) (HAS_VOTE(v) && voter[v].promised <= f)

/* An owner whom no voter would hear has sent in vain what it does not know as committed. An acknowledgement counts no
 * more when it is known, or when no other voter can join it; a tip when no other voter can grant. */
inline settle() {
    i = 1;
    do
    :: i <= FENCES ->
        settle_fence(i);
#ifdef JOINT
        settle_candidate(i);
#endif
        i++
    :: else -> break
    od;
    i = 0
}
#define CAN_BE_JOINED(v) (heard_by & ~(1 << v))
inline settle_fence(f) {
    heard_by = 0;
    j = 0;
    do
    :: j < VOTERS && HEARS(f, j) -> heard_by = heard_by + (1 << j); j++
    :: j < VOTERS && !HEARS(f, j) -> j++
    :: j == VOTERS -> break
    od;
    if
    :: !heard_by -> owner[f].journal = PREFIX(owner[f].journal, owner[f].knows)
    :: else
    fi;
    j = 0;
    do
    :: j < VOTERS ->
        if
        :: voter[j].ack[f] <= owner[f].knows || !CAN_BE_JOINED(j) -> voter[j].ack[f] = 0
        :: else
        fi;
        if
        :: TIPS_ARE_USED(f) || !CAN_BE_JOINED(j) -> voter[j].tip[f] = 0
        :: else
        fi;
        j++
    :: else -> break
    od;
    j = 0;
    heard_by = 0
}

/* --- the quiet end: what is under way is lost, owners before the last one have sent what they sent */
inline fall_quiet() {
    i = 1;
    do
    :: i <= FENCES ->
        j = 0;
        do
        :: j < VOTERS -> voter[j].tip[i] = 0; voter[j].ack[i] = 0; j++
        :: else -> break
        od;
        if
        :: i < FENCES -> owner[i].journal = PREFIX(owner[i].journal, owner[i].knows)
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    j = 0
}

/* --- for people who read a trail: a verifier does not print */
inline picture() {
    i = 0;
    do
    :: i < VOTERS ->
        printf("voter %d %d %d %d %d\n", i, voter[i].journal, voter[i].promised, voter[i].committed, voter[i].lost);
        i++
    :: else -> break
    od;
    i = 1;
    do
    :: i <= FENCES -> printf("owner %d %d %d\n", i, owner[i].journal, owner[i].knows); i++
    :: else -> break
    od;
    i = 0
}
