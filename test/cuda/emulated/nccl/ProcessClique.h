// Ranks in several processes of one machine. They meet in a folder (in CLEAVE_EMULATED_NCCL_FOLDER, /dev/shm by
// default), in which each rank writes files and looks for those of the others. A file is written under another name and
// then renamed, so that it appears complete.
//
//   rank-R                  the process and the GPU of rank R, when it joins
//   call-NUMBER-REPLAY-R    the announcement of rank R for a collective, and the bytes that it sends
//   done1-..., done2-...    rank R has computed; rank R has written
//   offer-FROM-TO-N         the Nth message. taken-FROM-TO-N: it has been received
//   gone-R, left-R          rank R has aborted; rank R has left (the last one removes the folder)
//
// A process that no longer exists counts as a rank that has aborted.
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
  std::mutex mutex; // guards the fields below, which serve the ranks of this process
  std::map<std::string, std::vector<char>> received; // payloads of collectives under way
  std::map<std::pair<int, int>, uint64_t> offered, taken;
};

// Brings the ranks of ncclCommInitRank together, and finds out whether all of them are in one process.
class Gathering {
public:
  Gathering(std::string id, int size, int rank) : id(std::move(id)), size(size), rank(rank) {}
  void announce();
  // Returns null and a reason if not all ranks come, or if they disagree.
  std::shared_ptr<Clique> wait(const Stop &stop, std::string &why);
  // Set by wait(): two of the processes use the same GPU.
  bool sharesDevice = false;

private:
  std::string id;
  int size, rank;
};

} // namespace cleave::emulated::nccl
