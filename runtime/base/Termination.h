// SIGTERM as something to be looked at, for programs that run under a launcher: mpirun sends it to all others when one
// process has died, and what they know of that is worth a line before they end.
#ifndef CLEAVE_RUNTIME_BASE_TERMINATION_H
#define CLEAVE_RUNTIME_BASE_TERMINATION_H

namespace cleave::rt {

// From now on SIGTERM is only noted. Called by main programs, never by the library: whoever calls it must end when
// terminationNoted().
void noteTermination();
bool terminationNoted();

} // namespace cleave::rt

#endif
