// Lets the calling thread run sooner when it wakes, without giving it more time on a core.
//
// A progress thread sleeps until its peer is ready, moves some bytes, and lets another thread of its rank continue. If
// ranks compute on all cores, no core is free for it. It would wait some milliseconds until a computing thread has used
// up its time slice, while the peer waits for it. A thread with a short time slice runs at once when it wakes. Its
// share of a core and its priority do not change. Linux supports this from 6.12 on. Older systems ignore it. It needs
// no privileges.
#ifndef CLEAVE_RUNTIME_BASE_SHORTTURNS_H
#define CLEAVE_RUNTIME_BASE_SHORTTURNS_H

namespace cleave::rt {

void takeShortTurns();

} // namespace cleave::rt

#endif
