// The C API over Session: statuses become codes, and nothing is thrown across it.
#include "cleave/cleave.h"

#include "runtime/api/ProgramInputs.h"
#include "runtime/base/CaughtStatus.h"
#include "runtime/base/LoadedFile.h"
#include "runtime/base/NumberRange.h"
#include "runtime/base/OptionText.h"
#include "runtime/base/Printable.h"
#include "runtime/plan/ScalarNames.h"
#include "runtime/session/DrawnNumbers.h"
#include "runtime/session/GlobalTensor.h"
#include "runtime/session/IndexRange.h"
#include "runtime/session/ScalarStates.h"
#include "runtime/train/checkpoint/RunFacts.h"
#include "runtime/train/checkpoint/TrainCheckpoints.h"
#include "runtime/train/loop/Evaluator.h"
#include "runtime/train/loop/FiniteStep.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <limits>
#include <thread>
#include <unistd.h>

using namespace cleave::rt;

struct cleave_session {
  Session session;
  ProgramInputs inputs;
  TrainingPosition position;
  ScalarState lr, step, seed, clip, loss, gradNorm, lossScale;
  DrawnNumbers ofEvaluation, ofInference;
  double clipNorm = std::numeric_limits<double>::infinity();
  Status last; // of the last call that processes make together
  Status lost; // what calls return that need the parameters, after a step that destroyed them, until others are loaded
  std::atomic<bool> inCall{false};
  pid_t process = getpid(); // the process that created the session: only it has the threads of the ranks
};

namespace {

thread_local std::string lastError;

cleave_code finish(const Status &status) {
  if (status.isOk())
    return CLEAVE_OK;
  lastError = printable(status.message());
  return static_cast<cleave_code>(static_cast<int>(status.code()));
}

// Runs a call, and makes a status of an exception of the standard library (for example, no memory).
template <typename Call> Status caught(Call call) {
  try {
    return call();
  } catch (...) {
    return caughtStatus();
  }
}

template <typename Call> cleave_code guard(Call call) { return finish(caught(call)); }

// The same for calls that change a session or run programs. Two threads in one session would wait for each other's
// ranks forever, so the second call is refused.
template <typename Call> cleave_code guardAlone(cleave_session *session, Call call) {
  if (session && session->process != getpid())
    return finish(invalidArgument("this session was created before the process was forked off, and its threads are in "
                                  "process " +
                                  std::to_string(session->process) +
                                  " only; create the session after the fork, in the process that uses it"));
  if (session && session->inCall.exchange(true))
    return finish(invalidArgument("another thread is in a call of this session: a session is used by one thread at a "
                                  "time; give each thread its own, or a lock"));
  cleave_code code = guard(call);
  if (session)
    session->inCall = false;
  return code;
}

// The same for calls that all processes of a run make together. The status is kept: if the session is destroyed after a
// failed call, the other processes still wait for this one, and must be told.
template <typename Call> cleave_code guardTogether(cleave_session *session, Call call) {
  return guardAlone(session, [&] {
    Status status = caught(call);
    if (session)
      session->last = status;
    return status;
  });
}

struct Argument {
  const char *name;
  const void *value;
};

Status checkArguments(const char *call, std::initializer_list<Argument> arguments) {
  for (const Argument &argument : arguments)
    if (!argument.value)
      return invalidArgument(std::string(call) + ": the argument '" + argument.name + "' is NULL");
  return Status::ok();
}

// Returns the folder of the file that `address` was mapped from.
std::string directoryOf(const void *address) {
  std::string file = loadedFile(address);
  if (file.empty()) { // memory that a program has allocated itself
    std::error_code none;
    file = std::filesystem::read_symlink("/proc/self/exe", none).string();
  }
  return std::filesystem::path(file).parent_path().string();
}

SessionOptions toSessionOptions(const cleave_model &model, const cleave_options *options) {
  SessionOptions result;
  result.directory = directoryOf(&model);
  if (!options)
    return result;
  result.ranks = options->ranks;
  result.threads = options->threads;
  if (options->struct_size == sizeof(cleave_options)) // a program built with an older header has no seed
    result.seed = options->seed;
  if (options->weights)
    result.weights = options->weights;
  if (options->directory)
    result.directory = options->directory;
  return result;
}

Status describePort(cleave_session *session, const char *program, size_t index, bool output, cleave_tensor_info *info) {
  CLEAVE_TRY(checkArguments(output ? "cleave_describe_output" : "cleave_describe_input",
                            {{"session", session}, {"program", program}, {"info", info}}));
  GlobalTensor tensor;
  CLEAVE_TRY(GlobalTensor::at(session->session, program, index, output, &tensor));
  if (tensor.shape().size() > CLEAVE_MAX_DIMS)
    return invalidArgument("'" + tensor.port().name()->str() + "' has more than 16 dimensions");
  *info = {};
  info->name = tensor.port().name()->c_str();
  info->dtype = static_cast<cleave_dtype>(tensor.port().dtype());
  info->rank = static_cast<uint32_t>(tensor.shape().size());
  std::copy(tensor.shape().begin(), tensor.shape().end(), info->shape);
  info->bytes = tensor.bytes();
  return Status::ok();
}

Status findTensor(cleave_session *session, const char *program, const char *name, bool output, size_t bytes,
                  GlobalTensor *tensor) {
  CLEAVE_TRY(GlobalTensor::find(session->session, program, name, output, tensor));
  if (bytes != tensor->bytes())
    return invalidArgument("'" + std::string(name) + "' of the global batch is " +
                           toString(elementType(tensor->port().dtype()), tensor->shape()) + ", " +
                           std::to_string(tensor->bytes()) + " bytes; got " + std::to_string(bytes));
  return Status::ok();
}

// An index out of range would be found only by a kernel, and an error in the middle of a program ends the session. A
// label out of range would not be found at all. So both are checked here, before the input is changed.
Status checkIndices(cleave_session *session, const fb::Port &input, const void *data, size_t bytes) {
  Bytes values{const_cast<std::byte *>(static_cast<const std::byte *>(data)), bytes};
  uint64_t element = 0;
  for (const IndexRange &range : IndexRange::ofInput(session->session.plan(), input))
    if (Status status = range.check(input, values, &element); !status.isOk())
      return std::move(status).in("cleave_set_input, element " + std::to_string(element));
  return Status::ok();
}

Status trainStep(cleave_session *session, double rate, double *loss) {
  if (!isNumberFrom(rate, 0))
    return invalidArgument("cleave_train_step: expected a learning rate of 0 or more (finite in f32); got " +
                           realText(rate));
  const cleave::rt::fb::Program *program = nullptr;
  CLEAVE_TRY(session->session.entry("train_step", &program));
  CLEAVE_TRY(session->session.checkTrainsAlone());
  CLEAVE_TRY(Status(session->lost).in("cleave_train_step"));
  CLEAVE_TRY(session->inputs.checkAll(*program).in("cleave_train_step"));
  session->lr.set(rate);
  session->step.setInteger(static_cast<int64_t>(session->position.step + 1));
  session->seed.setInteger(static_cast<int64_t>(session->position.seed));
  session->clip.set(session->clipNorm);
  session->inputs.restore(session->session, "train_step");
  if (Status ran = session->session.run(*program); !ran.isOk()) {
    session->lost = dataLoss("step " + std::to_string(session->position.step + 1) +
                             " ended halfway, and has changed some of the states; create the session again");
    return ran;
  }
  session->inputs.noteRun(*program);
  ++session->position.step;
  std::optional<double> read, norm, scale; // read by all processes, even by those that do not ask for the loss
  CLEAVE_TRY(readScalars(session->session,
                         {{&session->loss, &read}, {&session->gradNorm, &norm}, {&session->lossScale, &scale}}));
  if (loss)
    *loss = read.value_or(std::numeric_limits<double>::quiet_NaN());
  auto badWeight = [&] { return session->position.step == 1 ? session->session.findNonFiniteWeight() : std::string(); };
  auto badInput = [&] { return session->inputs.findNonFinite(*program); };
  Status finite = checkFinite(read.value_or(0), norm, scale, badInput, badWeight);
  if (!finite.isOk())
    session->lost = dataLoss("the parameters were lost in step " + std::to_string(session->position.step) +
                             "; load a checkpoint of an earlier step, or create the session again");
  return std::move(finite).in("cleave_train_step");
}

// Takes the lock that a run with --save takes: two writers in one directory would remove each other's parts.
Status saveCheckpoint(cleave_session *session, const char *directory) {
  CLEAVE_TRY(Status(session->lost).in("cleave_save_checkpoint"));
  NewDirectories made;
  CheckpointLock lock;
  Status status;
  if (session->session.isLeader()) {
    status = NewDirectories::make(directory, &made);
    if (status.isOk())
      status = CheckpointLock::take(directory, &lock);
  }
  CLEAVE_TRY(session->session.agree(std::move(status), "open the directory"));
  SaveRequest request;
  request.directory = directory;
  request.lock = &lock;
  request.position = session->position;
  request.run = planFacts(session->session.plan(), session->session.modelName());
  return saveLiveStates(session->session, request);
}

// Checks everything that can be checked before the first state is written.
Status checkCheckpoint(cleave_session *session, const char *path, Checkpoint *checkpoint) {
  Session &opened = session->session;
  std::string note; // not needed: it is about a program that trains by itself
  CLEAVE_TRY(openCheckpoint(opened, path, checkpoint));
  CLEAVE_TRY(compareFacts(checkpoint->index().run, planFacts(opened.plan(), opened.modelName()), &note).in(path));
  return checkStates(opened, *checkpoint);
}

Status loadCheckpoint(cleave_session *session, const char *path) {
  Session &opened = session->session;
  Checkpoint checkpoint;
  CLEAVE_TRY(opened.agree(checkCheckpoint(session, path, &checkpoint), "load the checkpoint"));
  CLEAVE_TRY(opened.agreeOnHash(checkpoint.index().identity, "cleave_load_checkpoint: the checkpoints"));
  if (Status filled = opened.agree(fillStates(opened, checkpoint), "load the checkpoint"); !filled.isOk()) {
    session->lost = dataLoss("a checkpoint was loaded only in part; load one, or create the session again");
    return filled;
  }
  session->position = checkpoint.index().position;
  session->lost = Status::ok();
  return Status::ok();
}

Status evaluate(cleave_session *session, cleave_evaluation *sums) {
  if (sums->struct_size != sizeof *sums)
    return invalidArgument("cleave_evaluate: sums->struct_size is not sizeof(cleave_evaluation)");
  const cleave::rt::fb::Program *program = nullptr;
  CLEAVE_TRY(session->session.entry("evaluate", &program));
  CLEAVE_TRY(Status(session->lost).in("cleave_evaluate"));
  CLEAVE_TRY(session->inputs.checkAll(*program).in("cleave_evaluate"));
  EvaluationScalars scalars;
  CLEAVE_TRY(EvaluationScalars::open(session->session, &scalars));
  scalars.clear();
  session->ofEvaluation.next();
  session->inputs.restore(session->session, "evaluate");
  CLEAVE_TRY(session->session.run(*program));
  session->inputs.noteRun(*program);
  EvaluationSums read;
  CLEAVE_TRY(scalars.read(session->session, &read));
  *sums = {sizeof *sums, read.loss, read.count, read.correct, read.predictions};
  return Status::ok();
}

Status evaluationLoss(const cleave_session *session, const cleave_evaluation *sums, uint64_t batches, double *loss) {
  if (sums->struct_size != sizeof *sums)
    return invalidArgument("cleave_evaluation_loss: sums->struct_size is not sizeof(cleave_evaluation)");
  if (batches == 0)
    return invalidArgument("cleave_evaluation_loss: expected the number of global batches whose sums were added, 1 or "
                           "more; got 0");
  const cleave::rt::fb::Program *program = nullptr;
  CLEAVE_TRY(session->session.entry("evaluate", &program));
  EvaluationRule rule;
  CLEAVE_TRY(EvaluationRule::read(session->session.plan(), &rule));
  double divisor = rule.divisorOf(sums->count, static_cast<double>(batches));
  *loss = divisor == 0 ? std::numeric_limits<double>::quiet_NaN() : sums->loss_sum / divisor;
  return Status::ok();
}

Status setClipNorm(cleave_session *session, double norm) {
  if (norm != 0 && norm != std::numeric_limits<double>::infinity() && !isNumberAbove(norm, 0))
    return invalidArgument("cleave_set_clip_norm: expected a positive norm (in f32), or 0 for none; got " +
                           realText(norm));
  if (norm > 0 && !session->clip.exists())
    return invalidArgument("cleave_set_clip_norm: this model was compiled without gradient clipping (it has no "
                           "scalar.clip_norm)");
  session->clipNorm = norm > 0 ? norm : std::numeric_limits<double>::infinity();
  return Status::ok();
}

} // namespace

extern "C" {

const char *cleave_last_error(void) { return lastError.c_str(); }

cleave_code cleave_session_create(const cleave_model *model, const cleave_options *options, cleave_session **session) {
  return guard([&]() -> Status {
    if (session)
      *session = nullptr;
    CLEAVE_TRY(checkArguments("cleave_session_create", {{"model", model}, {"session", session}}));
    if (options && options->struct_size != sizeof(cleave_options) &&
        options->struct_size != offsetof(cleave_options, seed))
      return invalidArgument("cleave_session_create: options->struct_size is not sizeof(cleave_options)");
    if (options && options->weights && !*options->weights)
      return invalidArgument("cleave_session_create: options->weights is an empty text; expected a path, or NULL for "
                             "the compiled weights");
    auto made = std::make_unique<cleave_session>();
    CLEAVE_TRY(Session::open(*model, toSessionOptions(*model, options), &made->session));
    made->lr = ScalarState(made->session, kRateScalar);
    made->step = ScalarState(made->session, kStepScalar);
    made->seed = ScalarState(made->session, kSeedScalar);
    made->clip = ScalarState(made->session, kClipNormScalar);
    made->loss = ScalarState(made->session, kLossScalar);
    made->gradNorm = ScalarState(made->session, kGradNormScalar);
    made->lossScale = ScalarState(made->session, kLossScaleScalar);
    made->ofEvaluation = DrawnNumbers(made->session, kEvaluationSeed);
    made->ofInference = DrawnNumbers(made->session, kInferenceSeed);
    *session = made.release();
    return Status::ok();
  });
}

void cleave_session_destroy(cleave_session *session) {
  if (session && session->process != getpid())
    return; // the calls and threads to wait for are in the process that created the session
  // A thread in a call does not touch the session after it has set `inCall` to false.
  while (session && session->inCall.exchange(true))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (session && !session->last.isOk())
    session->session.abandon(session->last);
  delete session;
}

cleave_code cleave_describe_input(cleave_session *session, const char *program, size_t index,
                                  cleave_tensor_info *info) {
  return guard([&] { return describePort(session, program, index, /*output=*/false, info); });
}

cleave_code cleave_describe_output(cleave_session *session, const char *program, size_t index,
                                   cleave_tensor_info *info) {
  return guard([&] { return describePort(session, program, index, /*output=*/true, info); });
}

cleave_code cleave_set_input(cleave_session *session, const char *program, const char *name, const void *data,
                             size_t bytes) {
  return guardTogether(session, [&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_set_input",
                              {{"session", session}, {"program", program}, {"name", name}, {"data", data}}));
    GlobalTensor tensor;
    CLEAVE_TRY(findTensor(session, program, name, /*output=*/false, bytes, &tensor));
    CLEAVE_TRY(checkIndices(session, tensor.port(), data, bytes));
    session->inputs.set(session->session, program, tensor, static_cast<const std::byte *>(data));
    return Status::ok();
  });
}

cleave_code cleave_get_output(cleave_session *session, const char *program, const char *name, void *data,
                              size_t bytes) {
  return guardTogether(session, [&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_get_output",
                              {{"session", session}, {"program", program}, {"name", name}, {"data", data}}));
    GlobalTensor tensor;
    CLEAVE_TRY(findTensor(session, program, name, /*output=*/true, bytes, &tensor));
    const cleave::rt::fb::Program *entry = nullptr;
    CLEAVE_TRY(session->session.entry(program, &entry));
    CLEAVE_TRY(session->inputs.checkOutput(session->session.plan(), *entry, tensor.port()).in("cleave_get_output"));
    return tensor.gather(session->session, static_cast<std::byte *>(data));
  });
}

cleave_code cleave_infer(cleave_session *session) {
  return guardTogether(session, [&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_infer", {{"session", session}}));
    const fb::Program *program = nullptr;
    CLEAVE_TRY(session->session.entry("infer", &program));
    CLEAVE_TRY(Status(session->lost).in("cleave_infer"));
    CLEAVE_TRY(session->inputs.checkSome(session->session.plan(), *program).in("cleave_infer"));
    session->ofInference.next();
    session->inputs.restore(session->session, "infer");
    CLEAVE_TRY(session->session.run(*program));
    session->inputs.noteRun(*program);
    return Status::ok();
  });
}

cleave_code cleave_train_step(cleave_session *session, double learning_rate, double *loss) {
  return guardTogether(session, [&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_train_step", {{"session", session}}));
    return trainStep(session, learning_rate, loss);
  });
}

cleave_code cleave_set_seed(cleave_session *session, uint64_t seed) {
  return guardAlone(session, [&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_set_seed", {{"session", session}}));
    session->position.seed = seed;
    return Status::ok();
  });
}

cleave_code cleave_set_clip_norm(cleave_session *session, double norm) {
  return guardAlone(session, [&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_set_clip_norm", {{"session", session}}));
    return setClipNorm(session, norm);
  });
}

cleave_code cleave_evaluate(cleave_session *session, cleave_evaluation *sums) {
  return guardTogether(session, [&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_evaluate", {{"session", session}, {"sums", sums}}));
    return evaluate(session, sums);
  });
}

cleave_code cleave_evaluation_loss(const cleave_session *session, const cleave_evaluation *sums, uint64_t batches,
                                   double *loss) {
  return guard([&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_evaluation_loss", {{"session", session}, {"sums", sums}, {"loss", loss}}));
    return evaluationLoss(session, sums, batches, loss);
  });
}

uint64_t cleave_step_count(const cleave_session *session) { return session ? session->position.step : 0; }

cleave_code cleave_save_checkpoint(cleave_session *session, const char *directory) {
  return guardTogether(session, [&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_save_checkpoint", {{"session", session}, {"directory", directory}}));
    if (*directory == '\0')
      return invalidArgument("cleave_save_checkpoint: no directory: its path is empty");
    return saveCheckpoint(session, directory);
  });
}

cleave_code cleave_load_checkpoint(cleave_session *session, const char *path) {
  return guardTogether(session, [&]() -> Status {
    CLEAVE_TRY(checkArguments("cleave_load_checkpoint", {{"session", session}, {"path", path}}));
    return loadCheckpoint(session, path);
  });
}

} // extern "C"
