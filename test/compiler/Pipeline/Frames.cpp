#include "test/compiler/Pipeline/Frames.h"

#include "compiler/Pipeline/Dependences.h"

#include <algorithm>

namespace cleave::pipeline {

namespace {

// The times at which the value of each micro-batch begins and ends. Both lists ascend.
struct Lives {
  std::vector<double> begin, end;

  void add(double from, double to) {
    begin.push_back(from);
    end.push_back(to);
  }

  // The largest number at one time. If one value ends when another begins, both count: their order is not known.
  int most() const {
    int alive = 0;
    for (size_t first = 0, last = 0; last < begin.size(); ++last) {
      while (end[first] < begin[last])
        ++first;
      alive = std::max(alive, static_cast<int>(last - first) + 1);
    }
    return alive;
  }
};

class Counter {
public:
  Counter(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs)
      : schedule_(schedule), graph_(graph), costs_(costs), table_(schedule) {
    for (const std::vector<Span> &spans : simulate(schedule, graph, costs).ranks)
      for (const Span &span : spans)
        end_.push_back(span.end);
  }

  CrossingFrames count() const {
    CrossingFrames frames;
    for (const ChunkEdge &edge : graph_.edges)
      frames.ofEdge.push_back(ofEdge(edge));
    for (int chunk = 0; chunk < schedule_.numChunks(); ++chunk)
      frames.betweenHalves.push_back(betweenHalves(chunk));
    return frames;
  }

private:
  EdgeFrames ofEdge(const ChunkEdge &edge) const {
    if (schedule_.rankOfChunk[edge.from] == schedule_.rankOfChunk[edge.to])
      return {};
    Lives sent, received, sentBack, receivedBack;
    for (int i = 0; i < schedule_.microBatches; ++i) {
      double made = end_[table_.forward(edge.from, i)], back = end_[table_.backward(edge.to, i)];
      sent.add(made, made + costs_.transfer);
      received.add(made, end_[table_.weight(edge.to, i)]);
      sentBack.add(back, back + costs_.transfer);
      receivedBack.add(back, end_[table_.weight(edge.from, i)]);
    }
    if (!edge.gradient)
      return {sent.most(), received.most(), 0, 0};
    return {sent.most(), received.most(), sentBack.most(), receivedBack.most()};
  }

  int betweenHalves(int chunk) const {
    Lives lives;
    for (int i = 0; i < schedule_.microBatches; ++i)
      if (table_.backward(chunk, i) != table_.weight(chunk, i))
        lives.add(end_[table_.backward(chunk, i)], end_[table_.weight(chunk, i)]);
    return lives.most();
  }

  const Schedule &schedule_;
  const ChunkGraph &graph_;
  const Costs &costs_;
  TaskTable table_;
  std::vector<double> end_;
};

} // namespace

CrossingFrames crossingFrames(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs) {
  return Counter(schedule, graph, costs).count();
}

FramesAlive framesAlive(const Schedule &schedule) {
  FramesAlive most{std::vector<int>(schedule.numChunks()), std::vector<int>(schedule.numRanks())};
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    std::vector<int> ofChunk(schedule.numChunks());
    int ofRank = 0;
    for (const Task &task : schedule.ranks[rank]) {
      if (task.action == Action::Forward) {
        most.ofChunk[task.chunk] = std::max(most.ofChunk[task.chunk], ++ofChunk[task.chunk]);
        most.ofRank[rank] = std::max(most.ofRank[rank], ++ofRank);
      } else if (task.action == Action::Backward || task.action == Action::BackwardWeight) {
        --ofChunk[task.chunk];
        --ofRank;
      }
    }
  }
  return most;
}

} // namespace cleave::pipeline
