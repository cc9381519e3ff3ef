// A running model: its plan, its weights, and the ranks of this process, each on a thread of its own.
//
// A process that is started alone holds every rank of the mesh, and the ranks exchange bytes through memory. A process
// that a launcher has started holds one rank. Everything above (training, inference, the C API) calls forEach(), which
// runs a function on all ranks of the process at the same time and joins them. If one fails, the others are told, and
// return too.
#ifndef CLEAVE_RUNTIME_SESSION_SESSION_H
#define CLEAVE_RUNTIME_SESSION_SESSION_H

#include "runtime/state/Layout.h"
#include "runtime/state/WeightStore.h"

#include <functional>
#include <memory>

namespace cleave::rt {

struct SessionOptions {
  unsigned ranks = 0;    // 0: the product of the mesh
  unsigned threads = 0;  // per rank; 0: as the plan says
  std::string directory; // folder of NAME.weights
  std::string weights;   // replaces the compiled weights; empty: none
  uint64_t seed = 0;     // seed of weights that are drawn (compile --init)
  std::string trace;     // path of a Chrome trace to write; empty: none
  std::string program;   // an entry program that the plan must have; empty: any
  std::string command;   // the command; all processes must have the same; empty: calls of the C API
  // For a main program that a launcher has started as one of several processes: SIGTERM is only noted, so that the
  // process can print a line before it ends (Termination.h).
  bool notesTermination = false;
};

class Session {
public:
  Session();
  ~Session();
  Session(Session &&) noexcept;
  Session &operator=(Session &&) noexcept;

  // Checks the plan, creates the ranks, and gives every state its initial value. `model` must outlive the session.
  static Status open(const cleave_model &model, const SessionOptions &options, Session *result);

  const fb::Plan &plan() const;
  const std::string &modelName() const;
  // The checkpoint that SessionOptions::weights names or leads to; empty if there is none.
  const std::string &weightsCheckpoint() const;
  // True if the model was compiled with --init, and nothing replaces the drawn weights.
  bool hasDrawnWeights() const;
  // To be called before training. Fails if several processes of torchrun or srun would each train the whole of a model
  // of one rank. Inference may run in several such processes.
  Status checkTrainsAlone() const;
  // Finds the entry program with this name. If there is none, the error says what the model was compiled for.
  Status entry(const char *name, const fb::Program **program) const;

  unsigned localRanks() const;
  unsigned worldRank(unsigned local) const;
  Rank &rank(unsigned local);
  const RankStates &states(unsigned local) const;
  // The index of a local rank among the data ranks, and the number of data ranks.
  unsigned dataRank(unsigned local) const;
  unsigned dataRanks() const;
  // Several ranks may hold the same part of an output: those with the same index among the data ranks. True for the
  // first of them.
  bool answersFor(unsigned local, const fb::Port &port) const;
  // True if every kind of ranks has the port.
  bool hasEverywhere(const fb::Port &port) const;
  // The first rank of the mesh that has the port.
  unsigned firstRankWith(const fb::Port &port) const;
  // True if this process holds rank 0. It prints the messages and writes the files that a run has only once.
  bool isLeader() const;

  using RankFn = std::function<Status(unsigned local, Rank &rank)>;
  Status forEach(const RankFn &run);
  // To be called after states were loaded from `weights`, a path such as --weights takes; empty: from the program.
  // Runs the plan's entry program `init`, if there is one (it packs weights).
  Status finishLoading(const std::string &weights);
  Status run(const fb::Program &program);
  // Explains a loss that is not finite (WeightStore::findNonFinite): looks at the weights that were loaded last. They
  // are read again, because a step that fails has changed the states. Empty if all are finite, or cannot be read any
  // more.
  std::string findNonFiniteWeight() const;
  // Sets the text to that of the first process that has one. All processes must call it.
  void share(std::string *text);
  // Waits until all processes are here.
  Status barrier();
  // Tells the other processes that this one gives up. They end with an error too. It is for an error that only this
  // process may have met: without it, the others would wait until CLEAVE_COMM_TIMEOUT_S is over. The caller reports the
  // reason.
  void abandon(const Status &reason);
  // The communicator of the processes, which hold one rank each; null if this process holds all ranks.
  Communicator *processes() const;
  // All processes must call it; each learns whether one of them has failed. A process that has failed gets its own
  // status back. The others get PeerLost, with `what` the other process could not do ("load the checkpoint").
  // `*haveAnswered` is false if a process could not be asked: then the others may not know of a failure.
  Status agree(Status mine, const char *what, unsigned channel = 0, bool *haveAnswered = nullptr);

  // All processes must call it with equally many numbers. Fails on all of them if a process has a number that differs
  // from the leader's. That process reports the status of `difference`, which gets the index of the first such number
  // and the leader's number.
  using Difference = std::function<Status(size_t place, uint64_t leaders)>;
  Status agreeWithLeader(const std::vector<uint64_t> &mine, const Difference &difference);
  // The same for one number, which the error shows, and for contents by their hash. The `what` of a hash is a plural.
  Status agreeOn(uint64_t mine, const std::string &what);
  Status agreeOnHash(uint64_t mine, const std::string &what);

  // Collects bytes on the leader's process. Each byte must have been written by one process, and be zero on the others.
  Status gather(std::byte *data, size_t size);

  // Copies bytes from the process of rank `holder` to all processes.
  Status share(std::byte *data, size_t size, unsigned holder);

  // Payload bytes that rank 0 of this process has sent.
  uint64_t bytesSent();
  // For --trace: records a training step that began at `beginNs` and has just ended (both TraceSink::now()).
  void traceStep(uint64_t step, uint64_t beginNs, uint64_t endNs);
  Status writeTrace();
  // The command holds the outputs of all samples in so many bytes, which no plan has.
  void noteOutputs(uint64_t bytes);
  // The same for data: files (DataSet::memoryBytes), and batches that no plan has. Data sets add up.
  void noteData(uint64_t bytes);
  // "memory: planned 12 MiB (2 ranks x 6 MiB), measured peak 14 MiB above the start (expected: at most ...)"
  std::string memoryReport();

private:
  struct Impl;
  Status start(const cleave_model &model, const SessionOptions &options);

  std::unique_ptr<Impl> impl_;
};

} // namespace cleave::rt

#endif
