/* Cleave's C API: run and train a compiled model from any program.
 *   extern const cleave_model cleave_model_mlp;           // defined by the object that `cleave compile` wrote
 *   cleave_session *session;
 *   if (cleave_session_create(&cleave_model_mlp, NULL, &session) != CLEAVE_OK)
 *     die(cleave_last_error());
 *   if (cleave_set_input(session, "infer", "x", x, sizeof x) == CLEAVE_OK && cleave_infer(session) == CLEAVE_OK)
 *     status = cleave_get_output(session, "infer", "y", y, sizeof y);
 *   cleave_session_destroy(session);
 *
 * Every call that can fail returns a cleave_code. Check it. After a failure, cleave_last_error() says in one line what
 * failed, where, and what to do. No exception leaves the library, and the library never exits.
 * Any thread may use a session, but only one at a time. A call that runs or changes a session while another thread is
 * in such a call is refused with CLEAVE_INVALID_ARGUMENT. A program with several threads holds a lock around its calls,
 * or gives each thread a session. cleave_session_destroy() waits until the call of another thread has returned. No call
 * may begin after cleave_session_destroy().
 * A session belongs to the process that created it. A process that is forked later has none of the session's threads,
 * so its calls are refused. It may create sessions of its own with one thread per rank.
 * Inputs and outputs of `train_step` are those of the *global* batch: the compiled batch x micro-batches x data ranks,
 * rank by rank. Other programs have no micro-batches: the compiled batch x data ranks.
 * All ranks of the mesh are threads of the process, unless mpirun or srun (for GPUs also torchrun) has started it. Then
 * all processes make the same calls in the same order. Each process gives the whole global batch and gets the whole
 * outputs, and has one session at a time. After a session is destroyed, another one can be created. For GPUs without
 * MPI, cleave_session_create() sets NCCL_COMM_ID if the process has one thread. A program with more threads sets it
 * before it starts (docs/mpi.md). */
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
  uint32_t ranks;        /* default: the product of the mesh */
  uint32_t threads;      /* compute threads per rank, in the program's own OpenMP; default: as compiled. If other work
                            runs on the machine, set GOMP_SPINCOUNT=5000 in the environment: otherwise libgomp waits
                            for milliseconds without sleeping */
  const char *weights;   /* safetensors file, directory or checkpoint that replaces the compiled weights */
  const char *directory; /* folder of NAME.weights; default: that of the program or shared library with the model */
  uint64_t seed;         /* seed of the weights that are drawn if the model was compiled with --init */
} cleave_options;

#define CLEAVE_MAX_DIMS 16

/* An input or output, with the samples of all data ranks. `name` lives as long as the session. */
typedef struct cleave_tensor_info {
  const char *name;
  cleave_dtype dtype;
  uint32_t rank;
  int64_t shape[CLEAVE_MAX_DIMS];
  size_t bytes;
} cleave_tensor_info;

/* Returns the message of this thread's last call that failed. */
const char *cleave_last_error(void);

/* `model` must outlive the session. `options` may be NULL. `*session` is NULL after a failure. */
CLEAVE_MUST_USE cleave_code cleave_session_create(const cleave_model *model, const cleave_options *options,
                                                  cleave_session **session);
/* Waits until another thread's call that runs or changes the session has returned, and until the other processes
 * destroy their sessions. It does not wait for cleave_describe_*: no thread may be in one. A signal handler must not
 * call it. The other processes are told, and their calls fail, if a call has failed here, or if another process waits
 * for this one in a call that this one does not make any more. */
void cleave_session_destroy(cleave_session *session);

/* `program` is "infer", "train_step" or "evaluate". Returns CLEAVE_NOT_FOUND if `index` is past the last input or
 * output. */
CLEAVE_MUST_USE cleave_code cleave_describe_input(cleave_session *session, const char *program, size_t index,
                                                  cleave_tensor_info *info);
CLEAVE_MUST_USE cleave_code cleave_describe_output(cleave_session *session, const char *program, size_t index,
                                                   cleave_tensor_info *info);

/* Copy an input in and an output out. `bytes` must be the tensor's size. The inputs of each program keep their values
 * until they are set again. Class labels and indices that the model does not know are refused with
 * CLEAVE_INVALID_ARGUMENT. A refused call leaves the input as it was.
 * An input has no value before it is set, and the inputs of "train_step" are not those of "evaluate". If an input of a
 * program has no value, the program is refused with CLEAVE_INVALID_ARGUMENT. As an exception, cleave_infer() runs if
 * all inputs that at least one output depends on are set (for example, logits do not depend on labels).
 * cleave_get_output() refuses an output before the program has run, and an output that depends on an input which was
 * not set at that run. */
CLEAVE_MUST_USE cleave_code cleave_set_input(cleave_session *session, const char *program, const char *name,
                                             const void *data, size_t bytes);
CLEAVE_MUST_USE cleave_code cleave_get_output(cleave_session *session, const char *program, const char *name,
                                              void *data, size_t bytes);

/* If a program has begun and failed, its session can run no other program: this call, cleave_train_step() and
 * cleave_evaluate() return the same error again. Wrong arguments are found before the program begins, and do no harm.
 * If the model draws random numbers, each call draws other numbers, and those of a new session are the same again. */
CLEAVE_MUST_USE cleave_code cleave_infer(cleave_session *session);
/* Runs one optimizer step on the inputs of "train_step". `loss` (may be NULL) gets the loss before the update.
 * `learning_rate` must be 0 or more. Returns CLEAVE_DATA_LOSS if the loss or a gradient is infinite or not a number.
 * The parameters are lost then: this call, cleave_evaluate(), cleave_infer() and cleave_save_checkpoint() return
 * CLEAVE_DATA_LOSS until cleave_load_checkpoint() has loaded others. With a loss scale, such a step is skipped instead. */
CLEAVE_MUST_USE cleave_code cleave_train_step(cleave_session *session, double learning_rate, double *loss);
/* Sets the largest norm of all gradients together, from the next step on. Gradients with a larger norm are scaled down
 * to it. 0, the default: no limit. */
CLEAVE_MUST_USE cleave_code cleave_set_clip_norm(cleave_session *session, double norm);

/* Sums over one global batch. Members of several batches may be added up. The accuracy is correct / predictions. Both
 * are 0 if the model's loss has no classes. If loss_sum is not a number, neither is the accuracy: scores that are not
 * numbers predict nothing. cleave_evaluation_loss() computes the loss: many models divide loss_sum by
 * count, and others divide by a function of the count (for example, its maximum with 1). */
typedef struct cleave_evaluation {
  size_t struct_size; /* sizeof(cleave_evaluation) */
  double loss_sum, count;
  double correct, predictions;
} cleave_evaluation;

/* Evaluates the inputs of "evaluate" with the present state, and does not change it. Dropout is off, and running
 * statistics are used. If the model draws random numbers, each call draws other numbers. */
CLEAVE_MUST_USE cleave_code cleave_evaluate(cleave_session *session, cleave_evaluation *sums);
/* Computes the loss from `sums`, the added results of `batches` calls of cleave_evaluate(), with the model's own
 * divisor. `loss` is not a number if no sample counts (the loss ignores every label). */
CLEAVE_MUST_USE cleave_code cleave_evaluation_loss(const cleave_session *session, const cleave_evaluation *sums,
                                                   uint64_t batches, double *loss);

/* Sets the seed of dropout, from the next step on. */
CLEAVE_MUST_USE cleave_code cleave_set_seed(cleave_session *session, uint64_t seed);
/* Returns the number of steps done, including those before a loaded checkpoint. */
uint64_t cleave_step_count(const cleave_session *session);

/* Saves DIRECTORY/step-N and makes DIRECTORY/latest refer to it. Returns CLEAVE_INVALID_ARGUMENT while another session,
 * or a program that trains with --save, saves into DIRECTORY. */
CLEAVE_MUST_USE cleave_code cleave_save_checkpoint(cleave_session *session, const char *directory);
/* Loads a checkpoint, or the latest one of a directory. A checkpoint that is of another model, does not fit or is
 * damaged is refused before anything changes: the session can be used as before. */
CLEAVE_MUST_USE cleave_code cleave_load_checkpoint(cleave_session *session, const char *path);

#ifdef __cplusplus
}
#endif
#endif
