#include "runtime/session/Session.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/CaughtStatus.h"
#include "runtime/base/Counted.h"
#include "runtime/base/Log.h"
#include "runtime/base/NearestName.h"
#include "runtime/base/Termination.h"
#include "runtime/base/Trace.h"
#include "runtime/comm/Launcher.h"
#include "runtime/comm/LocalWorld.h"
#include "runtime/comm/MpiCommunicator.h"
#include "runtime/device/DeviceMeeting.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/KernelFacts.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/OutsideMemory.h"
#include "runtime/plan/PlanPrinter.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/Seals.h"
#include "runtime/session/HostResources.h"
#include "runtime/session/MemoryUsage.h"
#include "runtime/session/RankThreads.h"
#include "runtime/session/SameRun.h"
#include "runtime/state/RandomInit.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <unistd.h>

namespace cleave::rt {

// Members are destroyed from the last to the first: the threads, then the ranks, then the communicators that they use.
struct Session::Impl {
  const fb::Plan *plan = nullptr;
  std::string name, tracePath, weightsCheckpoint;
  cleave_model model{}; // with the two paths, where the weights are from
  std::string directory, weights;
  std::string variables; // of the environment, by which MPI was found
  std::unique_ptr<ChromeTrace> trace;
  std::unique_ptr<LocalWorld> local;
  std::unique_ptr<Communicator> processes; // hold one rank each; null: all ranks are here
  std::vector<Rank> ranks;
  std::vector<RankStates> states;
  std::unique_ptr<RankThreads> threads;
  uint64_t residentBefore = 0;
  uint64_t outputBytes = 0, dataBytes = 0; // what the command holds besides the plan
  uint64_t joinBytes = 0;                  // what joining the other processes has taken
  bool hasDrawnWeights = false;

  unsigned worldRank(unsigned index) const { return processes ? processes->rank() : index; }
  Communicator &communicator(unsigned index) {
    return processes ? *processes : local->communicator(static_cast<int>(index));
  }
  unsigned threadsOf(unsigned requested) const { return requested ? requested : std::max(1u, plan->threads()); }
  Demand demand(unsigned threads) const;
  Status joinProcesses();
  Status connect();
  Status checkRanks(unsigned requested) const;
  Status makeRanks(const cleave_model &model, unsigned threadsPerRank);
};

// Processes of a program for the host find each other only if MPI has started them. Otherwise each would run the whole
// model.
static Status refuseLauncher(const fb::Plan &plan, const LauncherRank &launched) {
  uint64_t ranks = meshSize(plan);
  std::string many = std::to_string(ranks),
              once =
                  ranks == 1 ? "once" : "or once: then the " + counted(ranks, "rank") + " are threads of one process";
  std::string end = "; a process that is to run alone needs " + launched.unset + " unset";
  if (launcher() == Launcher::Slurm)
    return invalidArgument("started by srun without MPI as one of several processes (" + launched.variables +
                           "), which would each run the whole model alone. Start it " +
                           (ranks == 1
                                ? once
                                : "by srun --mpi=pmix (or --mpi=pmi2: as the program's MPI needs; srun --mpi=list "
                                  "shows what there is), as mpirun -n " +
                                      many + " PROGRAM, " + once) +
                           end);
  return invalidArgument("started by torchrun as one of several processes (" + launched.variables +
                         "), which would each run the whole model alone. Start it without torchrun, " +
                         (ranks == 1 ? once : "as mpirun -n " + many + " PROGRAM, " + once) + end);
}

// If a model of one rank is started in several processes, each process would train the whole model.
static Status checkTrainsOnce(const fb::Plan &plan) {
  if (meshSize(plan) > 1 || launcher() == Launcher::Mpi || launcher() == Launcher::None)
    return Status::ok();
  LauncherRank launched;
  CLEAVE_TRY(readLauncherRank(&launched));
  if (!devicesMeetAlone(std::string(textOf(plan.target()))))
    return refuseLauncher(plan, launched);
  return invalidArgument(
      "started as one of " + counted(static_cast<uint64_t>(launched.size), "process") + " (" + launched.variables +
      "), which would each train the whole model alone; compile it for --mesh dp=" + std::to_string(launched.size) +
      ", or start it once; a process that is to run alone needs " + launched.unset + " unset");
}

static Status checkProcesses(int processes, const fb::Plan &plan, const std::string &how) {
  uint64_t ranks = meshSize(plan);
  if (static_cast<uint64_t>(processes) == ranks)
    return Status::ok();
  return invalidArgument("started as " + counted(static_cast<uint64_t>(processes), "process") + ", but compiled for " +
                         counted(ranks, "rank") + (ranks == 1 ? "; " : " (" + meshText(plan) + "); ") + how);
}

// Connects the processes by MPI, or by a means of the devices (NCCL). If a launcher has started several processes of a
// model with one rank, each of them runs alone.
Status Session::Impl::joinProcesses() {
  uint64_t wanted = meshSize(*plan);
  if (launcher() == Launcher::Mpi) {
    variables = mpiVariables(); // MPI itself sets some of them
    return createMpiCommunicator(&processes);
  }
  if (launcher() == Launcher::None || wanted == 1)
    return Status::ok();
  LauncherRank launched;
  CLEAVE_TRY(readLauncherRank(&launched));
  std::string target(textOf(plan->target()));
  if (!devicesMeetAlone(target))
    return refuseLauncher(*plan, launched);
  CLEAVE_TRY(checkProcesses(launched.size, *plan,
                            "its launcher says " + launched.variables + "; start " + std::to_string(wanted) +
                                " processes, or one without these variables: then all ranks are threads of it"));
  return createDeviceCommunicator(target, launched, &processes);
}

// Finds the other ranks: threads of this process, or other processes.
Status Session::Impl::connect() {
  CLEAVE_TRY(checkCommVariables());
  uint64_t wanted = meshSize(*plan), before = memoryUsage().resident;
  CLEAVE_TRY(joinProcesses());
  if (uint64_t now = memoryUsage().resident; processes && now > before)
    joinBytes = now - before;
  if (!processes)
    local = std::make_unique<LocalWorld>(static_cast<int>(wanted));
  return Status::ok();
}

// Called after checkSameProgram(): where programs differ, that is the mistake, and not the number of ranks of one.
Status Session::Impl::checkRanks(unsigned requested) const {
  uint64_t wanted = meshSize(*plan);
  if (launcher() == Launcher::Mpi) {
    // A shell that a launcher has started, as by srun --pty bash, has its variables, too.
    std::string alone = processes->size() == 1 ? ", or unset " + variables + ", which a launcher has set: then the " +
                                                     counted(wanted, "rank") + " are threads of this process"
                                               : "";
    CLEAVE_TRY(checkProcesses(processes->size(), *plan,
                              wanted == 1 ? "start it once, without mpirun"
                                          : "use mpirun -n " + std::to_string(wanted) + alone));
  }
  if (requested && requested != wanted)
    return invalidArgument("--ranks " + std::to_string(requested) + ", but compiled for " + counted(wanted, "rank") +
                           (wanted == 1 ? "" : " (" + meshText(*plan) + ")") +
                           "; leave --ranks out, or compile for another --mesh");
  return Status::ok();
}

Status Session::Impl::makeRanks(const cleave_model &model, unsigned threadsPerRank) {
  unsigned count = processes ? 1 : static_cast<unsigned>(local->size());
  ranks.resize(count);
  states.resize(count);
  threads = std::make_unique<RankThreads>(count, [this](unsigned index, const Status &reason) {
    if (reason.code() != Code::PeerLost)
      communicator(index).abort(reason);
  });
  // On the rank's own thread, so that the pages that it touches first are near it.
  return threads->run([&](unsigned index) {
    RankOptions options;
    options.rank = static_cast<int>(worldRank(index));
    options.threads = static_cast<int>(threadsOf(threadsPerRank));
    options.trace = trace.get();
    options.deviceImage = {static_cast<const char *>(model.device_image), model.device_image_size};
    options.deviceKernels = model.device_kernels;
    CLEAVE_TRY(Rank::create(*plan, model.kernels, options, communicator(index), &ranks[index]));
    states[index] = viewStates(ranks[index]);
    return Status::ok();
  });
}

// After a fork, the child has none of libgomp's threads, and libgomp would wait for them forever. Asked before anything
// runs.
static Status checkThreadsAreHere(unsigned threads) {
  static std::atomic<pid_t> process{0}; // the first that created a session
  pid_t first = 0;
  if (process.compare_exchange_strong(first, getpid()) || first == getpid() || threads <= 1)
    return Status::ok();
  return invalidArgument("this process was forked from one that had a session (" + std::to_string(first) +
                         "), and OpenMP's threads did not come along; give 1 thread per rank, " +
                         "or start a new program in place of the fork (in Python, multiprocessing's \"spawn\")");
}

// Bytes of the plan, of device and host together. Ranks of different kinds may need different amounts.
struct PlannedMemory {
  uint64_t mostOfRank = 0, ofAllRanks = 0;
};

static PlannedMemory plannedMemory(const PlanSummary &summary) {
  PlannedMemory memory;
  auto add = [&](const PlanSummary &kind) {
    uint64_t bytes = kind.totalBytes + kind.hostBytes;
    memory.mostOfRank = std::max(memory.mostOfRank, bytes);
    memory.ofAllRanks += bytes * kind.ranksOfKind;
  };
  add(summary);
  for (const PlanSummary &kind : summary.others)
    add(kind);
  return memory;
}

// The resources that the ranks of this process need. A process of a launcher counts the largest kind of ranks. If the
// ranks are threads, only a number of compute threads that the user has given is counted: the compiled number is the
// target's.
Demand Session::Impl::demand(unsigned threads) const {
  PlannedMemory memory = plannedMemory(summarize(*plan));
  unsigned ranksHere = processes ? 1u : static_cast<unsigned>(local->size());
  return {ranksHere, std::max(1u, threads), processes ? memory.mostOfRank : memory.ofAllRanks,
          processes && threads == 0 ? threadsOf(0) : 0};
}

Session::Session() = default;
Session::~Session() = default;
Session::Session(Session &&) noexcept = default;
Session &Session::operator=(Session &&) noexcept = default;

// The text for a shortage of memory: how much all ranks of this plan need.
static std::string describeNeed(const fb::Plan &plan) {
  PlanSummary summary = summarize(plan);
  PlannedMemory memory = plannedMemory(summary);
  std::string all = ", and " + formatBytes(memory.ofAllRanks) + " for all " + std::to_string(summary.ranks) + " (" +
                    meshText(plan) + ")";
  return "; the plan takes " + std::string(summary.others.empty() ? "" : "up to ") + formatBytes(memory.mostOfRank) +
         " a rank" + (summary.ranks == 1 ? "" : all);
}

Status Session::open(const cleave_model &model, const SessionOptions &options, Session *result) {
  Session session;
  session.impl_ = std::make_unique<Impl>();
  Status status;
  try {
    status = session.start(model, options);
  } catch (...) {
    status = caughtStatus();
  }
  if (status.code() == Code::OutOfMemory && session.impl_->plan)
    return {Code::OutOfMemory, status.message() + describeNeed(session.plan())};
  if (status.isOk())
    *result = std::move(session);
  return status;
}

Status Session::checkTrainsAlone() const { return checkTrainsOnce(*impl_->plan); }

Status Session::start(const cleave_model &model, const SessionOptions &options) {
  if (model.abi != CLEAVE_MODEL_ABI)
    return invalidArgument("the model has ABI " + std::to_string(model.abi) + ", this runtime " +
                           std::to_string(CLEAVE_MODEL_ABI) + "; compile it again");
  if (!model.plan || !model.kernel_facts)
    return invalidArgument(
        "the model has no plan or no facts of its kernels (NULL); give the cleave_model of what `cleave "
        "compile` wrote");
  Impl &impl = *impl_;
  impl.residentBefore = memoryUsage().resident;
  impl.name = model.name ? model.name : "model";
  impl.model = model;
  impl.directory = options.directory;
  impl.tracePath = options.trace;
  if (!options.trace.empty()) {
    AtomicFile probe; // a wrong path is found now, not after the run
    CLEAVE_TRY(AtomicFile::create(options.trace, &probe).in("--trace"));
    impl.trace = std::make_unique<ChromeTrace>();
  }
  const uint64_t *seals = model.kernel_facts + model.kernel_count;
  CLEAVE_TRY(checkBytesSeal(model.plan, model.plan_size, seals[kBytesSeal]).in("the compiled plan"));
  CLEAVE_TRY(openPlan(model.plan, model.plan_size, &impl.plan).in("the compiled plan"));
  if (impl.trace)
    impl.trace->setPlan(planFingerprint(*impl.plan));
  CLEAVE_TRY(checkFacts(*impl.plan, model.kernel_facts, model.kernel_count).in("the compiled plan"));
  CLEAVE_TRY(checkMeaningSeal(*impl.plan, seals[kMeaningSeal]).in("the compiled plan"));
  if (model.device_kernels) {
    std::vector<uint64_t> alignments;
    for (size_t i = 0; i < model.kernel_count; ++i)
      alignments.push_back(model.device_kernels[i].alignments);
    CLEAVE_TRY(checkAlignments(*impl.plan, alignments).in("the compiled plan"));
  }
  const fb::Program *wanted = nullptr;
  if (!options.program.empty())
    CLEAVE_TRY(entry(options.program.c_str(), &wanted));
  // Weights are checked before ranks are created, so that this mistake is reported early.
  WeightStore weights;
  const char *weightsOption = options.command.empty() ? "weights" : "--weights"; // of the C API, or of a command
  CLEAVE_TRY(WeightStore::open(model, options.directory, options.weights, &weights, weightsOption));
  std::string leftOut;
  CLEAVE_TRY(weights.check(*impl.plan, &leftOut));
  impl.weightsCheckpoint = weights.checkpoint() + (weights.standIn().empty() ? "" : " (" + weights.standIn() + ")");
  if (options.program == "train_step")
    CLEAVE_TRY(checkTrainsAlone());
  if (options.notesTermination && launcher() != Launcher::None && meshSize(*impl.plan) > 1)
    noteTermination();
  CLEAVE_TRY(impl.connect());
  CLEAVE_TRY(checkSameProgram(*this, model, options.command));
  CLEAVE_TRY(impl.checkRanks(options.ranks));
  impl.hasDrawnWeights = options.weights.empty() && drawsStates(*impl.plan);
  if (impl.processes && impl.hasDrawnWeights)
    CLEAVE_TRY(agreeOn(options.seed, "--seed, by which weights are drawn"));
  if (impl.processes)
    CLEAVE_TRY(agreeOnHash(weights.identity(*impl.plan), "--weights: the initial weights"));
  if (impl.worldRank(0) == 0 && !weights.note().empty())
    log(LogLevel::Warning, -1, weights.note());
  if (impl.worldRank(0) == 0 && !leftOut.empty())
    log(LogLevel::Info, -1, leftOut);
  if (impl.worldRank(0) == 0)
    for (const std::string &note : resourceNotes(impl.demand(options.threads), HostResources::here()))
      log(LogLevel::Warning, -1, note);
  CLEAVE_TRY(checkThreadsAreHere(options.threads ? options.threads : impl.plan->threads()));
  CLEAVE_TRY(impl.makeRanks(model, options.threads));
  CLEAVE_TRY(
      impl.threads->run([&](unsigned index) { return initializeStates(impl.states[index], weights, options.seed); }));
  return finishLoading(options.weights);
}

const fb::Plan &Session::plan() const { return *impl_->plan; }
const std::string &Session::modelName() const { return impl_->name; }
const std::string &Session::weightsCheckpoint() const { return impl_->weightsCheckpoint; }
bool Session::hasDrawnWeights() const { return impl_->hasDrawnWeights; }
unsigned Session::localRanks() const { return static_cast<unsigned>(impl_->ranks.size()); }
unsigned Session::worldRank(unsigned local) const { return impl_->worldRank(local); }
Rank &Session::rank(unsigned local) { return impl_->ranks[local]; }
const RankStates &Session::states(unsigned local) const { return impl_->states[local]; }
bool Session::isLeader() const { return impl_->worldRank(0) == 0; }
unsigned Session::dataRanks() const { return static_cast<unsigned>(axesSize(plan(), plan().data_axes())); }

unsigned Session::dataRank(unsigned local) const {
  return linearCoordinate(plan(), plan().data_axes(), impl_->states[local].coordinates);
}

// The first kind of ranks that has both the port and this rank's samples answers. Of this kind, the rank with the first
// coordinates on all other axes answers.
bool Session::answersFor(unsigned local, const fb::Port &port) const {
  const auto *data = plan().data_axes();
  const std::vector<unsigned> &coordinates = impl_->states[local].coordinates;
  for (const fb::Plan *kind : kindsOf(plan())) {
    bool hasSamples = hasPort(plan(), *kind, port), isFirst = true;
    for (uint32_t axis = 0; axis < lengthOf(plan().axes()); ++axis) {
      AxisRange range = rangeOf(*kind, axis);
      if (data && std::find(data->begin(), data->end(), axis) != data->end())
        hasSamples = hasSamples && range.contains(coordinates[axis]);
      else
        isFirst = isFirst && coordinates[axis] == range.begin;
    }
    if (hasSamples)
      return isFirst;
  }
  return false;
}

bool Session::hasEverywhere(const fb::Port &port) const {
  for (const fb::Plan *kind : kindsOf(plan()))
    if (!hasPort(plan(), *kind, port))
      return false;
  return true;
}

unsigned Session::firstRankWith(const fb::Port &port) const {
  for (const fb::Plan *kind : kindsOf(plan()))
    if (hasPort(plan(), *kind, port))
      return firstRankOf(*kind);
  return 0; // not reached: checkKinds() has checked that some kind has it
}

Status Session::entry(const char *name, const fb::Program **program) const {
  *program = findProgram(plan(), name);
  if (*program)
    return Status::ok();
  bool trains = findProgram(plan(), "train_step") != nullptr;
  std::vector<std::string> programs{"infer", "train_step", "evaluate"};
  if (std::find(programs.begin(), programs.end(), name) == programs.end())
    return invalidArgument("no model has a program '" + std::string(name) + "'" +
                           (didYouMean(name, programs).empty() ? "; a program is infer, train_step or evaluate"
                                                               : didYouMean(name, programs)));
  if (std::string_view(name) == "infer")
    return invalidArgument(
        "this model was compiled for training; for inference, run `cleave export` on a checkpoint and compile the "
        "exported model without --train, or use evaluate");
  return invalidArgument(trains ? "this model holds no program '" + std::string(name) + "'"
                                : "this model was compiled for inference; compile it with --train");
}

Status Session::forEach(const RankFn &run) {
  return impl_->threads->run([&](unsigned index) { return run(index, impl_->ranks[index]); });
}

Status Session::run(const fb::Program &program) {
  return forEach([&](unsigned, Rank &rank) { return rank.run(program); });
}

Status Session::finishLoading(const std::string &weights) {
  impl_->weights = weights;
  CLEAVE_TRY(forEach([](unsigned, Rank &rank) { return rank.pushStates(); }));
  const fb::Program *init = findProgram(plan(), "init");
  return init ? run(*init) : Status::ok();
}

Status Session::barrier() {
  // forEach() has already joined the local ranks.
  return impl_->processes ? impl_->processes->barrier() : Status::ok();
}

Communicator *Session::processes() const { return impl_->processes.get(); }

uint64_t Session::bytesSent() { return impl_->ranks[0].counters().bytesSent; }

void Session::traceStep(uint64_t step, uint64_t beginNs, uint64_t endNs) {
  if (impl_->trace)
    impl_->trace->step(step, beginNs, endNs);
}

Status Session::writeTrace() {
  if (!impl_->trace || impl_->trace->isEmpty())
    return Status::ok();
  // Each process writes a file of its own ranks.
  std::string path = impl_->tracePath;
  if (impl_->processes && impl_->processes->size() > 1)
    path += "." + std::to_string(impl_->processes->rank());
  if (size_t dropped = impl_->trace->dropped())
    log(LogLevel::Warning, -1,
        "--trace: only the first part of the run is recorded, since the trace is full; " +
            counted(dropped, "later span") + (dropped == 1 ? " is" : " are") + " missing from " + path);
  return writeFileAtomically(path, impl_->trace->json());
}

std::string Session::findNonFiniteWeight() const {
  WeightStore weights;
  if (!WeightStore::open(impl_->model, impl_->directory, impl_->weights, &weights).isOk())
    return "";
  return weights.findNonFinite(plan());
}

void Session::noteOutputs(uint64_t bytes) { impl_->outputBytes = bytes; }
void Session::noteData(uint64_t bytes) { impl_->dataBytes += bytes; }

std::string Session::memoryReport() {
  uint64_t planned = 0, onHost = 0, base = 0, outside = 0;
  std::string text;
  for (const fb::Plan *kind : kindsOf(plan())) {
    auto isOfKind = [&](const Rank &rank) { return &rank.plan() == kind; };
    auto ranks = std::count_if(impl_->ranks.begin(), impl_->ranks.end(), isOfKind);
    if (ranks == 0)
      continue;
    RankCounters counters = std::find_if(impl_->ranks.begin(), impl_->ranks.end(), isOfKind)->counters();
    planned += counters.plannedBytes * static_cast<uint64_t>(ranks);
    onHost += counters.hostBytes * static_cast<uint64_t>(ranks);
    OutsideMemory besides = outsideMemory(*kind);
    base = besides.base;
    outside += besides.ofProcess(static_cast<uint64_t>(ranks)) - besides.base;
    text += (text.empty() ? "" : ", ") + counted(static_cast<uint64_t>(ranks), "rank") + " x " +
            formatBytes(counters.plannedBytes);
  }
  uint64_t held = impl_->outputBytes + impl_->dataBytes + impl_->joinBytes;
  auto named = [](uint64_t bytes, const char *what) {
    return bytes == 0 ? "" : ", and " + formatBytes(bytes) + " for " + what;
  };
  uint64_t peak = memoryUsage().peak;
  uint64_t measured = peak > impl_->residentBefore ? peak - impl_->residentBefore : 0;
  return "memory: planned " + formatBytes(planned) + " (" + text + ")" +
         (onHost == 0 ? "" : " and " + formatBytes(onHost) + " of host memory") + ", measured peak " +
         formatBytes(measured) + " above the start" +
         (base == 0 ? ""
                    : " (expected: at most " + formatBytes(planned + onHost + base + outside + held) + ", of which " +
                          formatBytes(base + outside) + " is for code and libraries" +
                          named(impl_->outputBytes, "all outputs") + named(impl_->dataBytes, "data") +
                          named(impl_->joinBytes, "MPI's start") + ")");
}

} // namespace cleave::rt
