/* Which of some voters is which cannot matter: an exhaustive search looks at one order of them only. SWAPS are the
 * comparisons of neighbours that sort those that stand under equal rules. Trails are made without it. */
#ifdef SYMMETRY
c_decl {
\#include <string.h>
}
c_code {
    static void in_order(void) {
        static const int swaps[][2] = {SWAPS};
        for (unsigned each = 0; each < sizeof swaps / sizeof *swaps; each++) {
            struct Voter *a = &now.voter[swaps[each][0]], *b = &now.voter[swaps[each][1]], kept;
            if (memcmp(a, b, sizeof kept) > 0) {
                memcpy(&kept, a, sizeof kept);
                memcpy(a, b, sizeof kept);
                memcpy(b, &kept, sizeof kept);
            }
        }
    }
}
#define ORDER c_code { in_order(); }
#else
#define ORDER skip
#endif
