// A file that becomes shorter while it is mapped (data, weights, checkpoints) has no bytes any more where they are
// read: the system sends SIGBUS, which would end the program without a word.
#ifndef CLEAVE_RUNTIME_MAIN_LOSTPAGES_H
#define CLEAVE_RUNTIME_MAIN_LOSTPAGES_H

#include <string>

namespace cleave::rt {

// From now on SIGBUS ends the process with exit code 1, after a line that says what happened. Called by main programs,
// never by the library.
void explainLostPages(const std::string &program);

} // namespace cleave::rt

#endif
