/* The quorum rules, one inline or macro for each sentence of the page; quoted in comments.
 *
 * A file that includes this one says how many VOTERS and FENCES there are, which N (the exposed token) a fence
 * has, when acknowledgements are enough and when grants are; it must not repeat a rule. What stands under
 * an M_ is a mutation: the rule broken on purpose, which the checker must catch (catalogue.py).
 *
 * There is no network in the state. What an owner has sent is a function of its journal, which only grows:
 * so every append that it can have sent, however late and however often, can arrive in every state, or never.
 * README.md argues this and every other reduction.
 */

#include "journal.pml"
#include "properties.pml"
#include "voter.pml"
#include "owner.pml"
#include "settle.pml"
