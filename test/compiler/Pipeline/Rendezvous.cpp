#include "test/compiler/Pipeline/Rendezvous.h"

#include "compiler/Pipeline/Dependences.h"

namespace cleave::pipeline {

namespace {

// Runs the lists of tasks and the streams of transfers together, without time, as far as they can go.
class Rendezvous {
public:
  Rendezvous(const Schedule &schedule, const ChunkGraph &graph, PeerStreams streams, TransferFrames frames)
      : schedule_(schedule), frames_(frames), table_(schedule), before_(dependences(table_, schedule, graph)),
        transfers_(transfersOf(schedule, graph)), ranDone_(table_.size()), sent_(transfers_.size()),
        position_(schedule.numRanks()), streams_(schedule.numRanks()), into_(table_.size()), outOf_(table_.size()) {
    int perRank = streams == PeerStreams::One ? 1 : streams == PeerStreams::SendReceive ? 2 : 4;
    for (std::vector<Stream> &ofRank : streams_)
      ofRank.resize(perRank);
    // The numbers of transfers by edge, direction and micro-batch. They are used to find the transfer that had the same
    // frame before.
    numbers_.assign(graph.edges.size() * 2 * schedule.microBatches, -1);
    for (int number = 0; number < static_cast<int>(transfers_.size()); ++number) {
      const Transfer &transfer = transfers_[number];
      streamOf(transfer.sender, transfer, true).transfers.push_back(number);
      streamOf(transfer.receiver, transfer, false).transfers.push_back(number);
      outOf_[taskNumber(transfer.producer)].push_back(number);
      into_[taskNumber(transfer.consumer)].push_back(number);
      numbers_[keyOf(transfer, transfer.microBatch)] = number;
    }
  }

  std::optional<Problem> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < schedule_.numRanks(); ++rank) {
        moved |= runTasks(rank);
        for (Stream &stream : streams_[rank])
          while (meet(stream))
            moved = true;
      }
    }
    return describe();
  }

private:
  struct Stream {
    std::vector<int> transfers;
    size_t next = 0;
    int head() const { return next < transfers.size() ? transfers[next] : -1; }
  };

  Stream &streamOf(int rank, const Transfer &transfer, bool sends) {
    std::vector<Stream> &streams = streams_[rank];
    return streams[streams.size() == 1 ? 0 : streams.size() == 2 ? sends : 2 * sends + transfer.gradient];
  }

  int taskNumber(const Task &task) const {
    return task.action == Action::Forward ? table_.forward(task.chunk, task.microBatch)
                                          : table_.backward(task.chunk, task.microBatch);
  }

  size_t keyOf(const Transfer &transfer, int microBatch) const {
    return (static_cast<size_t>(transfer.edge) * 2 + transfer.gradient) * schedule_.microBatches + microBatch;
  }

  // The transfer `frames` micro-batches before this one on the same edge. -1: the transfer needs no earlier frame.
  int previousOfFrame(const Transfer &transfer, int frames) const {
    return frames == 0 || transfer.microBatch < frames ? -1 : numbers_[keyOf(transfer, transfer.microBatch - frames)];
  }

  // Why the task at the head of the rank's list waits. Empty if it can run.
  std::string taskWaitsFor(int number) const {
    for (int other : before_[number])
      if (!ranDone_[other] && table_.rankOf(other) == table_.rankOf(number))
        return toString(table_.task(other));
    for (int transfer : into_[number])
      if (!sent_[transfer])
        return "the receive of " + toString(transfers_[transfer]);
    for (int transfer : outOf_[number])
      if (int previous = previousOfFrame(transfers_[transfer], frames_.sent); previous >= 0 && !sent_[previous])
        return "its frame, until the send of " + toString(transfers_[previous]) + " is done";
    return "";
  }

  bool runTasks(int rank) {
    bool moved = false;
    for (; position_[rank] < static_cast<int>(schedule_.ranks[rank].size()); moved = true) {
      int number = table_.number(rank, position_[rank]);
      if (!taskWaitsFor(number).empty())
        break;
      ranDone_[number] = true;
      ++position_[rank];
    }
    return moved;
  }

  // Why the transfer at the head of a stream waits. Empty if it can run.
  std::string transferWaitsFor(int number) {
    const Transfer &transfer = transfers_[number];
    if (!ranDone_[taskNumber(transfer.producer)])
      return toString(transfer.producer);
    if (int previous = previousOfFrame(transfer, frames_.received);
        previous >= 0 && !ranDone_[taskNumber(transfers_[previous].consumer)])
      return "a frame, until " + toString(transfers_[previous].consumer) + " is done";
    for (Stream *stream : {&streamOf(transfer.sender, transfer, true), &streamOf(transfer.receiver, transfer, false)})
      if (stream->head() != number)
        return "its turn after " + toString(transfers_[stream->head()]);
    return "";
  }

  bool meet(Stream &stream) {
    int number = stream.head();
    if (number < 0 || !transferWaitsFor(number).empty())
      return false;
    const Transfer &transfer = transfers_[number];
    ++streamOf(transfer.sender, transfer, true).next;
    ++streamOf(transfer.receiver, transfer, false).next;
    return sent_[number] = true;
  }

  std::optional<Problem> describe() {
    std::string waits;
    for (int rank = 0; rank < schedule_.numRanks(); ++rank) {
      if (position_[rank] == static_cast<int>(schedule_.ranks[rank].size()))
        continue;
      int number = table_.number(rank, position_[rank]);
      waits += "\n  rank " + std::to_string(rank) + ": " + toString(table_.task(number)) + " waits for " +
               taskWaitsFor(number);
      for (Stream &stream : streams_[rank])
        if (stream.head() >= 0)
          waits += "\n  rank " + std::to_string(rank) + ": transfer " + toString(transfers_[stream.head()]) +
                   " waits for " + transferWaitsFor(stream.head());
    }
    if (waits.empty())
      return std::nullopt;
    return Problem{"sends and receives deadlock:" + waits};
  }

  const Schedule &schedule_;
  TransferFrames frames_;
  TaskTable table_;
  std::vector<std::vector<int>> before_;
  std::vector<Transfer> transfers_;
  std::vector<bool> ranDone_, sent_;
  std::vector<int> position_;
  std::vector<std::vector<Stream>> streams_;
  std::vector<std::vector<int>> into_, outOf_; // transfers by consumer and by producer
  std::vector<int> numbers_;
};

} // namespace

std::optional<Problem> checkRendezvous(const Schedule &schedule, const ChunkGraph &graph, PeerStreams streams,
                                       TransferFrames frames) {
  return Rendezvous(schedule, graph, streams, frames).run();
}

} // namespace cleave::pipeline
