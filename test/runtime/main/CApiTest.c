/* The C header from C: a program as a user writes it. Returns the number of the first check that failed, or 0. */
#include "cleave/cleave.h"

#include <math.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      cleave_session_destroy(session);                                                                                 \
      return __LINE__;                                                                                                 \
    }                                                                                                                  \
  } while (0)

int run_c_api(const cleave_model *model, const char *directory) {
  cleave_session *session = NULL, *failed = (cleave_session *)directory; /* anything */
  cleave_options options = {sizeof(cleave_options), 0, 1, NULL, NULL, 0};
  cleave_tensor_info info;
  cleave_evaluation sums = {0, 0, 0, 0, 0};
  float x[16], y[16];
  double first = 0, loss = 0;
  int i;
  for (i = 0; i < 16; ++i)
    x[i] = (float)i;
  CHECK(cleave_session_create(NULL, NULL, &failed) == CLEAVE_INVALID_ARGUMENT && !failed);
  CHECK(strstr(cleave_last_error(), "NULL") != NULL);
  options.weights = "";
  CHECK(cleave_session_create(model, &options, &failed) == CLEAVE_INVALID_ARGUMENT && !failed);
  CHECK(strstr(cleave_last_error(), "options->weights is an empty text; expected a path, or NULL") != NULL);
  options.weights = NULL;
  CHECK(cleave_session_create(model, &options, &session) == CLEAVE_OK);
  CHECK(cleave_describe_input(session, "train_step", 0, &info) == CLEAVE_OK);
  CHECK(strcmp(info.name, "x") == 0 && info.dtype == CLEAVE_F32 && info.rank == 2);
  CHECK(info.shape[0] == 4 && info.shape[1] == 4 && info.bytes == sizeof x); /* two ranks of two samples */
  CHECK(cleave_describe_input(session, "train_step", 1, &info) == CLEAVE_NOT_FOUND);
  CHECK(cleave_describe_output(session, "train_step", 0, NULL) == CLEAVE_INVALID_ARGUMENT);
  CHECK(strstr(cleave_last_error(), "cleave_describe_output: the argument 'info' is NULL") != NULL);
  CHECK(cleave_set_input(session, "train_step", "x", x, 3) == CLEAVE_INVALID_ARGUMENT);
  CHECK(strstr(cleave_last_error(), "f32[4, 4], 64 bytes; got 3") != NULL);
  CHECK(cleave_set_input(session, "train_step", "z", x, sizeof x) == CLEAVE_NOT_FOUND);
  CHECK(cleave_set_input(session, "train_step", "x", x, sizeof x) == CLEAVE_OK);
  CHECK(cleave_train_step(session, 0.1, &first) == CLEAVE_OK);
  CHECK(cleave_save_checkpoint(session, directory) == CLEAVE_OK);
  CHECK(cleave_train_step(session, 0.1, &loss) == CLEAVE_OK);
  CHECK(loss < first && cleave_step_count(session) == 2);
  CHECK(cleave_load_checkpoint(session, directory) == CLEAVE_OK);
  CHECK(cleave_step_count(session) == 1);
  CHECK(cleave_train_step(session, 0.1, &first) == CLEAVE_OK);
  CHECK(first == loss); /* bitwise */
  CHECK(cleave_load_checkpoint(session, "/nonexistent") == CLEAVE_NOT_FOUND);
  CHECK(cleave_set_input(session, "evaluate", "x", x, sizeof x) == CLEAVE_OK);
  CHECK(cleave_evaluate(session, &sums) == CLEAVE_INVALID_ARGUMENT); /* struct_size */
  sums.struct_size = sizeof sums;
  CHECK(cleave_evaluate(session, &sums) == CLEAVE_OK && sums.count == 4);
  first = sums.loss_sum;
  CHECK(cleave_evaluate(session, &sums) == CLEAVE_OK && sums.loss_sum == first); /* sums begin at 0 each time */
  CHECK(cleave_train_step(session, (double)NAN, &loss) == CLEAVE_INVALID_ARGUMENT);
  CHECK(cleave_train_step(session, (double)INFINITY, &loss) == CLEAVE_INVALID_ARGUMENT);
  CHECK(cleave_train_step(session, -0.1, &loss) == CLEAVE_INVALID_ARGUMENT);
  CHECK(strstr(cleave_last_error(), "a learning rate of 0 or more (finite in f32); got -0.1") != NULL &&
        cleave_step_count(session) == 2);
  CHECK(cleave_train_step(session, 0, &loss) == CLEAVE_OK);
  CHECK(fabs(first / 4 - loss) < 1e-6 * fabs(loss)); /* the same loss as that of the step, on the same inputs */
  CHECK(cleave_set_clip_norm(session, -1) == CLEAVE_INVALID_ARGUMENT);
  CHECK(cleave_set_clip_norm(session, 1) == CLEAVE_INVALID_ARGUMENT); /* this model has none */
  CHECK(strstr(cleave_last_error(), "compiled without gradient clipping") != NULL);
  CHECK(cleave_set_clip_norm(session, 0) == CLEAVE_OK);
  cleave_session_destroy(session);
  CHECK(cleave_session_create(model, NULL, &session) == CLEAVE_OK);
  CHECK(cleave_set_input(session, "infer", "x", x, sizeof x) == CLEAVE_OK);
  CHECK(cleave_infer(session) == CLEAVE_OK);
  CHECK(cleave_get_output(session, "infer", "y", y, sizeof y) == CLEAVE_OK);
  for (i = 0; i < 16; ++i)
    CHECK(fabsf(y[i] - x[i] * (float)(i % 4 + 1)) < 1e-6f);
  cleave_session_destroy(session);
  return 0;
}
