// A program on the C API, for mpirun -n 2: the second process makes a mistake, tells it, and goes. The first must not
// wait.
#include "cleave/cleave.h"

#include "test/runtime/main/TinyModel.h"

#include <cstdlib>
#include <cstring>

static int fail(cleave_session *session, int rank) {
  std::fprintf(stderr, "process %d: %s\n", rank, cleave_last_error());
  cleave_session_destroy(session);
  return 1;
}

int main() {
  cleave::rt::test::TinyModel model(2);
  const char *place = std::getenv("OMPI_COMM_WORLD_RANK");
  int rank = place ? std::atoi(place) : 0;
  cleave_session *session = nullptr;
  float x[16] = {};
  if (cleave_session_create(&model.model(), nullptr, &session) != CLEAVE_OK)
    return fail(nullptr, rank);
  for (int step = 0; step < 100; ++step) {
    size_t bytes = rank == 1 && step == 3 ? 3 : sizeof x;
    if (cleave_set_input(session, "train_step", "x", x, bytes) != CLEAVE_OK ||
        cleave_train_step(session, 0.1, nullptr) != CLEAVE_OK)
      return fail(session, rank);
  }
  cleave_session_destroy(session);
  return 0;
}
