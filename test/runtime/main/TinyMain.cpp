// The tiny model as an executable, for mpirun: TinyMain RANKS train ...
#include "runtime/main/Commands.h"
#include "test/runtime/main/TinyModel.h"

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  cleave::rt::test::TinyModel model(static_cast<unsigned>(std::atoi(argv[1])));
  return cleave::rt::runMain(argc - 1, argv + 1, model.model());
}
