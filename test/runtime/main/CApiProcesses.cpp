// A program that uses the C API, for mpirun. Every process gets the outputs of the whole global batch, in several
// sessions one after the other.
//   CApiProcesses [SECONDS]     rank 0 works for so long before its first session, and after its last one
#include "cleave/cleave.h"

#include "test/runtime/main/TinyModel.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

static int fail(const char *what) {
  std::fprintf(stderr, "%s: %s\n", what, cleave_last_error());
  return 1;
}

static int inferOnce(const cleave_model &model, size_t elements, float shift) {
  std::vector<float> x(elements), y(elements, -1);
  for (size_t i = 0; i < elements; ++i)
    x[i] = static_cast<float>(i) + shift;
  size_t bytes = elements * sizeof x[0];
  cleave_session *session = nullptr, *second = nullptr;
  if (cleave_session_create(&model, nullptr, &session) != CLEAVE_OK)
    return fail("create");
  if (cleave_session_create(&model, nullptr, &second) != CLEAVE_INVALID_ARGUMENT ||
      !std::strstr(cleave_last_error(), "one session at a time"))
    return fail("a second session");
  if (cleave_set_input(session, "infer", "x", x.data(), bytes) != CLEAVE_OK || cleave_infer(session) != CLEAVE_OK ||
      cleave_get_output(session, "infer", "y", y.data(), bytes) != CLEAVE_OK)
    return fail("infer");
  cleave_session_destroy(session);
  for (size_t i = 0; i < elements; ++i)
    if (y[i] != x[i] * static_cast<float>(i % cleave::rt::test::kWidth + 1)) {
      std::fprintf(stderr, "element %zu: %g\n", i, static_cast<double>(y[i]));
      return 1;
    }
  return 0;
}

int main(int argc, char **argv) {
  const char *size = std::getenv("OMPI_COMM_WORLD_SIZE");
  unsigned ranks = size ? static_cast<unsigned>(std::atoi(size)) : 1;
  cleave::rt::test::TinyModel model(ranks);
  size_t elements = size_t{ranks} * cleave::rt::test::kBatch * cleave::rt::test::kWidth;
  const char *rank = std::getenv("OMPI_COMM_WORLD_RANK");
  std::chrono::seconds work(argc > 1 && rank && std::strcmp(rank, "0") == 0 ? std::atoi(argv[1]) : 0);
  std::this_thread::sleep_for(work);
  for (int round = 0; round < 3; ++round)
    if (int code = inferOnce(model.model(), elements, static_cast<float>(round)))
      return code;
  std::this_thread::sleep_for(work);
  return 0;
}
