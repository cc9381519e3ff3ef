// The staged model as an executable, for mpirun: StagedMain PP DP FSDP train ...
#include "runtime/main/Commands.h"
#include "test/runtime/main/StagedModel.h"

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  auto size = [&](int i) { return static_cast<unsigned>(std::atoi(argv[i])); };
  cleave::rt::test::StagedModel model({size(1), size(2), size(3)});
  argv[3] = argv[0];
  return cleave::rt::runMain(argc - 3, argv + 3, model.model());
}
