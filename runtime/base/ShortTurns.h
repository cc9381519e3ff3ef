// Turns of the calling thread on a core: how soon it runs when it wakes, not how much.
//
// A progress thread sleeps until its peer has come, moves some bytes, and lets another thread of its rank go on. Where
// ranks compute on all cores there is none left for it: it would wait until a computing thread has used up its turn,
// some milliseconds, while the peer waits for it. A thread of short turns runs at once when it wakes. Its part of a
// core is as before, and so is its priority. Linux has such turns from 6.12 on; elsewhere nothing changes, and no right
// is needed.
#ifndef CLEAVE_RUNTIME_BASE_SHORTTURNS_H
#define CLEAVE_RUNTIME_BASE_SHORTTURNS_H

namespace cleave::rt {

void takeShortTurns();

} // namespace cleave::rt

#endif
