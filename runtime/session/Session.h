// A model that runs: its plan, its weights, and the ranks of this process, each on a thread of its own.
//
// Started alone, the process holds every rank of the mesh and they talk through memory; started by a launcher it
// holds one. Everything above (training, inference, the C API) is written once against forEach(), which runs a function
// on all ranks of the process at the same time and joins them. When one fails, the others are told and return too.
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
  std::string directory; // where NAME.weights lies
  std::string weights;   // replaces the compiled weights; empty: none
  uint64_t seed = 0;     // of weights that are drawn (compile --init)
  std::string trace;     // Chrome trace to write; empty: none
  std::string program;   // an entry program that must be there; empty: any
  std::string command;   // what is done with it: processes must agree; empty: calls of the C API
  bool notesTermination = false; // a main program's: one of several processes ends by a word on SIGTERM (Termination.h)
};

class Session {
public:
  Session();
  ~Session();
  Session(Session &&) noexcept;
  Session &operator=(Session &&) noexcept;

  // Checks the plan, makes the ranks and gives every state its initial value. `model` must outlive the session.
  static Status open(const cleave_model &model, const SessionOptions &options, Session *result);

  const fb::Plan &plan() const;
  const std::string &modelName() const;
  // The checkpoint that SessionOptions::weights is, or led to; empty where it is none.
  const std::string &weightsCheckpoint() const;
  // Whether the model was compiled with --init, and nothing replaces the weights that are drawn then.
  bool hasDrawnWeights() const;
  // Before training: each process of torchrun or srun would train a model of one rank as a whole. Inference may run beside
  // others.
  Status checkTrainsAlone() const;
  // The entry program of that name, or an error that says what the model was compiled for.
  Status entry(const char *name, const fb::Program **program) const;

  unsigned localRanks() const;
  unsigned worldRank(unsigned local) const;
  Rank &rank(unsigned local);
  const RankStates &states(unsigned local) const;
  // The place of a local rank among the data ranks, and their number.
  unsigned dataRank(unsigned local) const;
  unsigned dataRanks() const;
  // Of the ranks that have the same of an output, being at the same place among the data ranks: whether it is the
  // first.
  bool answersFor(unsigned local, const fb::Port &port) const;
  // Whether every kind of ranks has the port.
  bool hasEverywhere(const fb::Port &port) const;
  // The first rank of all that has it.
  unsigned firstRankWith(const fb::Port &port) const;
  // Whether this process holds rank 0: it prints and writes what there is one of.
  bool isLeader() const;

  using RankFn = std::function<Status(unsigned local, Rank &rank)>;
  Status forEach(const RankFn &run);
  // After states were loaded: runs the plan's entry program `init`, where it has one (it packs weights).
  Status finishLoading();
  Status run(const fb::Program &program);
  // Waits until all processes are here.
  Status barrier();
  // Tells the other processes that this one gives up; they end with an error, too. For an error that it
  // may have met alone: the others would wait for it until CLEAVE_COMM_TIMEOUT_S is over. The caller tells the reason.
  void abandon(const Status &reason);
  // What processes talk through, one rank each; null where this one holds all ranks.
  Communicator *processes() const;
  // All processes meet and learn whether one of them has failed. Its own failure comes back to it, that of another as
  // PeerLost: `what` it could not do.
  Status agree(Status mine, const char *what, unsigned channel = 0);

  // All processes meet, each with as many numbers; an error on all of them where one has another number than the
  // leader. That one says so: `difference` is given the place of the first that differs, and the leader's number.
  using Difference = std::function<Status(size_t place, uint64_t leaders)>;
  Status agreeWithLeader(const std::vector<uint64_t> &mine, const Difference &difference);
  // Of one number, which the error names; and of contents by their hash, `what` being a plural.
  Status agreeOn(uint64_t mine, const char *what);
  Status agreeOnHash(uint64_t mine, const std::string &what);

  // Brings bytes together on the leader's process: each byte was written by one process, and is zero on the others.
  Status gather(std::byte *data, size_t size);

  // Bytes that the process of a rank has, for all processes.
  Status share(std::byte *data, size_t size, unsigned holder);

  // Payload bytes that rank 0 of this process has sent.
  uint64_t bytesSent();
  // For --trace: a step of training that began then (TraceSink::now()) and has just ended.
  void traceStep(uint64_t step, uint64_t beginNs, uint64_t endNs);
  Status writeTrace();
  // "memory: planned 12 MiB (2 ranks x 6 MiB), measured peak 14 MiB above the start (expected: at most ...)"
  std::string memoryReport();

private:
  struct Impl;
  Status start(const cleave_model &model, const SessionOptions &options);

  std::unique_ptr<Impl> impl_;
};

} // namespace cleave::rt

#endif
