// Ranks in several processes of one machine: they meet in a folder (CLEAVE_EMULATED_NCCL_FOLDER, /dev/shm by default),
// where each rank leaves files and looks for those of the others. A file appears whole, by renaming.
//
//   rank-R                  the process and the GPU of rank R, when it joins
//   call-NUMBER-REPLAY-R    what rank R announces for a collective, and the bytes that it gives
//   done1-..., done2-...    rank R has computed, has written
//   offer-FROM-TO-N         the Nth message; taken-FROM-TO-N: it has been taken
//   gone-R, left-R          rank R has aborted; has said goodbye (the last one removes the folder)
//
// A process that no longer exists counts as one that has aborted.
#pragma once
#include "test/cuda/emulated/nccl/Clique.h"
#include <functional>

namespace cleave::emulated::nccl {

class ProcessClique : public Clique {
public:
  ProcessClique(std::string folder, std::vector<int> processes);
  std::vector<Call> meet(Key key, int rank, const Call &call, const Stop &stop, std::string &why) override;
  bool finish(Key key, int rank, int phase, const Stop &stop) override;
  void offer(int from, int to, const Call &call) override;
  bool take(int from, int to, const Call &want, void *data, const Stop &stop, std::string &why) override;
  bool waitTaken(int from, int to, const Stop &stop) override;
  void abort(int rank) override;
  bool anyGone() override;
  void leave(int rank) override;
  std::shared_ptr<Clique> part(const std::string &id, const std::vector<int> &members) const override;

private:
  std::string path(const std::string &name) const { return folder + "/" + name; }

  const std::string folder;
  const std::vector<int> processes; // by rank
  std::mutex mutex;                 // what follows: of the ranks in this process
  std::map<std::string, std::vector<char>> received; // payloads of collectives under way
  std::map<std::pair<int, int>, uint64_t> offered, taken;
};

// The ranks of ncclCommInitRank come together, and find out whether they are of one process.
class Gathering {
public:
  Gathering(std::string id, int size, int rank) : id(std::move(id)), size(size), rank(rank) {}
  void announce();
  // Null, with a reason, when not all come, or they disagree.
  std::shared_ptr<Clique> wait(const Stop &stop, std::string &why);
  // What wait() has found: two of the processes have one GPU.
  bool sharesDevice = false;

private:
  std::string id;
  int size, rank;
};

} // namespace cleave::emulated::nccl
