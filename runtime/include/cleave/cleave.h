/* Cleave's C API: run and train a compiled model from any program.
 *
 *   extern const cleave_model cleave_model_mlp;           // defined by the object that `cleave compile` wrote
 *   cleave_session *session;
 *   if (cleave_session_create(&cleave_model_mlp, NULL, &session) != CLEAVE_OK)
 *     die(cleave_last_error());
 *   if (cleave_set_input(session, "infer", "x", x, sizeof x) == CLEAVE_OK && cleave_infer(session) == CLEAVE_OK)
 *     status = cleave_get_output(session, "infer", "y", y, sizeof y);
 *   cleave_session_destroy(session);
 *
 * Every call that can fail returns a cleave_code, which must be looked at; cleave_last_error() then says in one line
 * what, where, and what to do. No exception leaves the library, and it never exits.
 *
 * A session is used by one thread at a time, whichever it is. A call that runs or changes it beside another thread's is
 * refused with CLEAVE_INVALID_ARGUMENT; a program with several threads holds a lock around its calls, or gives each
 * thread a session. cleave_session_destroy() waits for another thread's call to return. No call may begin after it.
 *
 * A session is used in the process that created it: a process that is forked off later has none of its threads, and its
 * calls are refused. Such a process may create sessions of its own with one thread per rank.
 *
 * Inputs and outputs are those of the *global* batch: the compiled batch x micro-batches x data ranks, rank by rank.
 * All ranks of the mesh are threads of the process, unless mpirun or srun (for GPUs also torchrun) started it. Then all
 * processes make the same calls in the same order: each gives the whole global batch and gets the whole outputs. For
 * GPUs without MPI, cleave_session_create() sets NCCL_COMM_ID, if the process has one thread; a program with more sets it
 * before it starts (docs/mpi.md). A
 * process has one session at a time then; after it is destroyed, another one can be created. */
#ifndef CLEAVE_CLEAVE_H
#define CLEAVE_CLEAVE_H

#include "cleave/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CLEAVE_MUST_USE __attribute__((warn_unused_result))
#else
#define CLEAVE_MUST_USE
#endif

typedef enum cleave_code {
  CLEAVE_OK = 0,
  CLEAVE_INVALID_ARGUMENT,
  CLEAVE_NOT_FOUND,
  CLEAVE_DATA_LOSS,
  CLEAVE_IO_ERROR,
  CLEAVE_PEER_LOST,
  CLEAVE_OUT_OF_MEMORY,
  CLEAVE_INTERNAL
} cleave_code;

typedef enum cleave_dtype {
  CLEAVE_F32 = 0,
  CLEAVE_F64,
  CLEAVE_F16,
  CLEAVE_BF16,
  CLEAVE_I64,
  CLEAVE_I32,
  CLEAVE_I16,
  CLEAVE_I8,
  CLEAVE_U8,
  CLEAVE_BOOL
} cleave_dtype;

typedef struct cleave_session cleave_session;

/* Zero (or NULL) in any field means its default. */
typedef struct cleave_options {
  size_t struct_size;    /* sizeof(cleave_options): lets the struct grow */
  uint32_t ranks;        /* the product of the mesh */
  uint32_t threads;      /* compute threads per rank, of the program's own OpenMP; as compiled. Beside other work give
                            that GOMP_SPINCOUNT=5000 in the environment: libgomp else waits for milliseconds awake */
  const char *weights;   /* safetensors file, directory or checkpoint that replaces the compiled weights */
  const char *directory; /* where NAME.weights lies; the folder of the program or shared library that has the model */
  uint64_t seed;         /* of weights that are drawn, where the model was compiled with --init */
} cleave_options;

#define CLEAVE_MAX_DIMS 16

/* An input or output, for the global batch. `name` lives as long as the session. */
typedef struct cleave_tensor_info {
  const char *name;
  cleave_dtype dtype;
  uint32_t rank;
  int64_t shape[CLEAVE_MAX_DIMS];
  size_t bytes;
} cleave_tensor_info;

/* The message of this thread's last call that failed. */
const char *cleave_last_error(void);

/* `model` must outlive the session. `options` may be NULL. `*session` is NULL after a failure. */
CLEAVE_MUST_USE cleave_code cleave_session_create(const cleave_model *model, const cleave_options *options,
                                                  cleave_session **session);
/* Waits for another thread's call that runs or changes the session, and for the other processes to destroy theirs. Not
 * for cleave_describe_*: no thread may be in one. Not to be called by a signal handler. After a failed call, or where
 * another process waits for this one in a call that it does not make any more, the others are told: their calls fail.
 */
void cleave_session_destroy(cleave_session *session);

/* `program` is "infer", "train_step" or "evaluate". Past the last index: CLEAVE_NOT_FOUND. */
CLEAVE_MUST_USE cleave_code cleave_describe_input(cleave_session *session, const char *program, size_t index,
                                                  cleave_tensor_info *info);
CLEAVE_MUST_USE cleave_code cleave_describe_output(cleave_session *session, const char *program, size_t index,
                                                   cleave_tensor_info *info);

/* Copies in and out; `bytes` must be the tensor's size. Inputs of each program stay until they are set again, and what
 * they were where a call is refused: with CLEAVE_INVALID_ARGUMENT for class labels and indices that the model does not
 * know.
 *
 * An input has no value before it is set: the inputs of "train_step" are not those of "evaluate". A program that would
 * run on such an input is refused with CLEAVE_INVALID_ARGUMENT. cleave_infer() runs where at least one output has all
 * that it depends on (logits without labels, say). An output has no value before the program has run, and none where it
 * depends on an input that was not set then: cleave_get_output() refuses it. */
CLEAVE_MUST_USE cleave_code cleave_set_input(cleave_session *session, const char *program, const char *name,
                                             const void *data, size_t bytes);
CLEAVE_MUST_USE cleave_code cleave_get_output(cleave_session *session, const char *program, const char *name,
                                              void *data, size_t bytes);

/* A session in which a program has begun and failed is left: this call, cleave_train_step() and cleave_evaluate() give
 * its error again. Wrong arguments are found before, and do no harm. */
CLEAVE_MUST_USE cleave_code cleave_infer(cleave_session *session);
/* One optimizer step on the inputs of "train_step". `loss` (may be NULL) gets the loss before the update.
 * The rate is 0 or more. CLEAVE_DATA_LOSS where the loss or a gradient is infinite or not a number (without a loss
 * scale, which skips such steps): the parameters are lost then. */
CLEAVE_MUST_USE cleave_code cleave_train_step(cleave_session *session, double learning_rate, double *loss);
/* The largest norm of all gradients together, used from the next step on: larger ones are scaled down to it. 0: off,
 * which is the default. */
CLEAVE_MUST_USE cleave_code cleave_set_clip_norm(cleave_session *session, double norm);

/* Sums over one global batch. Members of several batches may be added up. The accuracy is correct / predictions; both
 * are 0 where the model's loss knows no classes. The loss is that of cleave_evaluation_loss(): many models divide
 * loss_sum by count, others by what they make of the count (a maximum with 1, say). */
typedef struct cleave_evaluation {
  size_t struct_size; /* sizeof(cleave_evaluation) */
  double loss_sum, count;
  double correct, predictions;
} cleave_evaluation;

/* Evaluates the inputs of "evaluate" with the state as it is, which stays: dropout off, running statistics used. */
CLEAVE_MUST_USE cleave_code cleave_evaluate(cleave_session *session, cleave_evaluation *sums);
/* The loss of what `batches` calls of cleave_evaluate() have given together, as the model divides it. Not a number
 * where no sample counts (every label is one that the loss ignores). */
CLEAVE_MUST_USE cleave_code cleave_evaluation_loss(const cleave_session *session, const cleave_evaluation *sums,
                                                   uint64_t batches, double *loss);

/* The seed of dropout, used from the next step on. */
CLEAVE_MUST_USE cleave_code cleave_set_seed(cleave_session *session, uint64_t seed);
/* Steps done, those before a loaded checkpoint included. */
uint64_t cleave_step_count(const cleave_session *session);

/* Saves DIRECTORY/step-N and lets DIRECTORY/latest name it. CLEAVE_INVALID_ARGUMENT while somebody else saves into
 * DIRECTORY: another session, or a program that trains with --save. */
CLEAVE_MUST_USE cleave_code cleave_save_checkpoint(cleave_session *session, const char *directory);
/* Loads a checkpoint, or the latest of a directory of them. One that is of another model, does not fit or is damaged is
 * refused before anything changes, and the session goes on as it was. */
CLEAVE_MUST_USE cleave_code cleave_load_checkpoint(cleave_session *session, const char *path);

#ifdef __cplusplus
}
#endif
#endif
