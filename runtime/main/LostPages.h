// Explains why a program ends if a file becomes shorter while it is mapped (data, weights, checkpoints). Then bytes
// that are read no longer exist, and the system sends SIGBUS, which would end the program silently.
#ifndef CLEAVE_RUNTIME_MAIN_LOSTPAGES_H
#define CLEAVE_RUNTIME_MAIN_LOSTPAGES_H

#include <string>

namespace cleave::rt {

// From now on SIGBUS ends the process with exit code 1, after a line that says what happened, and to which file. A main
// program may call this, a library must not.
void explainLostPages(const std::string &program);

} // namespace cleave::rt

#endif
