// A program that uses the C API, for mpirun. The second process makes a mistake, prints the error, and exits. With the
// argument `early` it exits at once. The other processes must not wait for it.
#include "cleave/cleave.h"

#include "test/runtime/main/TinyModel.h"

#include <cstdlib>
#include <cstring>
#include <vector>

static int fail(cleave_session *session, int rank) {
  std::fprintf(stderr, "process %d: %s\n", rank, cleave_last_error());
  cleave_session_destroy(session);
  return 1;
}

static int fromEnvironment(const char *name, int fallback) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : fallback;
}

int main(int argc, char **) {
  bool early = argc > 1;
  int rank = fromEnvironment("OMPI_COMM_WORLD_RANK", 0);
  unsigned ranks = static_cast<unsigned>(fromEnvironment("OMPI_COMM_WORLD_SIZE", 1));
  cleave::rt::test::TinyModel model(ranks);
  cleave_session *session = nullptr;
  std::vector<float> x(ranks * cleave::rt::test::kBatch * cleave::rt::test::kWidth);
  if (cleave_session_create(&model.model(), nullptr, &session) != CLEAVE_OK)
    return fail(nullptr, rank);
  for (int step = 0; step < 100; ++step) {
    bool errs = rank == 1 && step == 3;
    if (errs && early)
      break;
    size_t bytes = errs ? 3 : x.size() * sizeof x[0];
    if (cleave_set_input(session, "train_step", "x", x.data(), bytes) != CLEAVE_OK ||
        cleave_train_step(session, 0.1, nullptr) != CLEAVE_OK)
      return fail(session, rank);
  }
  cleave_session_destroy(session);
  return 0;
}
