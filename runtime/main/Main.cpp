// main() of every executable that `cleave compile` links. The linker provides the model.
#include "runtime/base/StandardStreams.h"
#include "runtime/main/Commands.h"

namespace cleave::rt {
void useOwnTeam(); // Team.cpp
}

extern "C" const cleave_model *const cleave_main_model;

int main(int argc, char **argv) {
  cleave::rt::openStandardStreams();
  cleave::rt::useOwnTeam();
  return cleave::rt::runMain(argc, argv, *cleave_main_model);
}
