/* Entries and journals, and the state that voters and owners keep. An entry is fence * 4 + kind, a journal holds up to six of them in an int */
#define BITS 5
#define ROOM 6
#define CLAIMED 0 /* `dispatched` is the first owner's */
#define EVENT 1
#define COMPLETED 2
#define CANCELED 3
#define TERMINALS (2 + (2 << 5) + (2 << 10) + (2 << 15) + (2 << 20) + (2 << 25))

#define EVENTS (1 + (1 << 5) + (1 << 10) + (1 << 15) + (1 << 20) + (1 << 25))
#define ENTRY(fence, kind) ((fence) * 4 + (kind))
#define FENCE(entry) ((entry) >> 2)
#define AT(journal, seq) (((journal) >> (BITS * ((seq)-1))) & 31)
#define LENGTH(j) (((j) > 0) + ((j) >= 32) + ((j) >= 1024) + ((j) >= 32768) + ((j) >= 1048576) + ((j) >= 33554432))
#define LAST(journal) AT(journal, LENGTH(journal))
#define ENDED(journal) (((journal) & TERMINALS) != 0)
#define PREFIX(journal, seq) ((journal) & ((1 << (BITS * (seq))) - 1))
#define PLUS(journal, entry) ((journal) + ((entry) << (BITS * LENGTH(journal))))
/* The hash at a seq covers everything up to it: two hashes are equal if the prefixes are. */
#define SAME(a, b, seq) (PREFIX(a, seq) == PREFIX(b, seq))
#define LEAST(a, b) (((a) < (b)) -> (a) : (b))

/* --- state */
typedef Voter {
    int journal;
    int tip[FENCES + 1];  /* what its grant to a fence said, plus GRANTED; 0: no grant is under way */
    byte ack[FENCES + 1]; /* highest seq acknowledged to a fence, as far as it can still matter */
    byte promised;
    byte committed;
    bool lost; /* its disk: it comes back under a new id */
#ifdef M_TIP_FENCE_IS_PROMISED
    byte was[FENCES + 1];
#endif
};
typedef Owner {
    int journal; /* 0: still a candidate */
    byte knows;  /* committed up to here; 0: its own `claimed` is not committed, it may not act */
#ifdef JOINT
    int heard; /* the most advanced tip of those heard */
    byte told; /* committed, as grants said */
#endif
};
Voter voter[VOTERS];
Owner owner[FENCES + 1];
byte wipes;

#define GRANTED (1 << 30)
#define TIP(f, v) (voter[v].tip[f] & (GRANTED - 1))
#define OWNS(f) (owner[f].journal != 0)
#define ACTS(f) (owner[f].knows != 0)
