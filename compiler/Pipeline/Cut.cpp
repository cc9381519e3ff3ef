#include "compiler/Pipeline/Cut.h"

#include "compiler/Pipeline/CutSegments.h"
#include "runtime/base/HumanUnits.h"

#include <algorithm>
#include <limits>

namespace cleave::pipeline {

int Cut::stageOf(int node) const {
  for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage)
    if (node < stages[stage].end)
      return stage;
  return -1;
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Dynamic programming, twice: first for the least time of the slowest stage, then for the fewest bytes of all cuts with
// no slower stage. (The best cut may begin with stages that by themselves are not the best, because they may be as slow
// as the slowest.)
//
// The number of all runs of nodes is quadratic in nodes. So a coarse cut comes first, at few of the nodes. No stage of
// the best cut is slower than the slowest stage of the coarse one. So slower runs are skipped, and also ends after
// which too much is left for the remaining stages. Only ends near those of the best cut remain.
class Cutter {
public:
  Cutter(const CutGraph &graph, const CutRequest &request)
      : request_(request), nodes_(static_cast<int>(graph.nodes.size())), segments_(graph, request),
        after_(graph.nodes.size() + 1, 0) {
    for (int node = nodes_; node-- > 0;)
      after_[node] = after_[node + 1] + segments_.leastOf(node);
  }

  bool run() {
    auto slowest = [&](double before) { return std::max(before, segments_.time()); };
    constexpr int kCoarse = 256;
    fill(std::max(2, nodes_ / kCoarse), slowest);
    slowest_ = best_.back()[nodes_];
    fill(1, slowest);
    slowest_ = best_.back()[nodes_];
    if (slowest_ == kNever)
      return false;
    fill(1, [&](double before) { return before + static_cast<double>(segments_.received()); });
    return true;
  }

  Cut result() {
    Cut cut;
    cut.stages.resize(request_.stages);
    int end = nodes_;
    for (int stage = request_.stages - 1; stage >= 0; --stage) {
      int begin = begin_[stage][end];
      segments_.startAt(begin);
      for (int node = begin + 1; node <= end; ++node)
        segments_.extendTo(node);
      cut.stages[stage] = {begin,
                           end,
                           segments_.time(),
                           segments_.received(),
                           segments_.memory(stage),
                           segments_.states(),
                           segments_.activations(stage)};
      cut.transferred += segments_.received();
      cut.slowest = std::max(cut.slowest, segments_.time());
      end = begin;
    }
    return cut;
  }

private:
  // best_[s][end] is the best value of stages 0 ... s over the nodes before `end`. `join` combines the current run with
  // the value of the stages before it. Stages begin at every `step`-th node of those at which one may begin, and no
  // stage is slower than `slowest_`.
  template <typename Join> void fill(int step, Join join) {
    std::vector<bool> begins(nodes_, false);
    for (int node = 0, number = 0; node < nodes_; ++node)
      begins[node] = segments_.mayBegin(node) && number++ % step == 0;
    best_.assign(request_.stages, std::vector<double>(nodes_ + 1, kNever));
    begin_.assign(request_.stages, std::vector<int>(nodes_ + 1, -1));
    for (int begin = 0; begin < nodes_; ++begin) {
      if (!begins[begin] || !isReached(begin))
        continue;
      segments_.startAt(begin);
      for (int end = begin + 1; end <= nodes_; ++end) {
        segments_.extendTo(end);
        if (segments_.time() > slowest_)
          break; // longer runs are slower
        if (end == nodes_ || begins[end])
          consider(begin, end, join);
      }
    }
  }

  bool isReached(int begin) const {
    return begin == 0 || std::any_of(best_.begin(), best_.end(),
                                     [&](const std::vector<double> &ofStage) { return ofStage[begin] != kNever; });
  }

  // True if the stages after this one can take the remaining nodes, if these could be divided without loss.
  bool leavesEnough(int stage, int end) const {
    constexpr double kRounding = 1 + 1e-9;
    int left = request_.stages - 1 - stage;
    return left == 0 ? end == nodes_ : slowest_ == kNever || after_[end] <= left * slowest_ * kRounding;
  }

  template <typename Join> void consider(int begin, int end, Join join) {
    for (int stage = begin == 0 ? 0 : 1; stage < (begin == 0 ? 1 : request_.stages); ++stage) {
      double before = stage == 0 ? 0 : best_[stage - 1][begin];
      if (before == kNever || !leavesEnough(stage, end) || !segments_.fits(stage))
        continue;
      if (double with = join(before); with < best_[stage][end]) {
        best_[stage][end] = with;
        begin_[stage][end] = begin;
      }
    }
  }

  const CutRequest &request_;
  int nodes_;
  Segments segments_;
  std::vector<double> after_; // for each node: the least cost of it and all nodes after it
  double slowest_ = kNever;   // no stage of the best cut is slower
  std::vector<std::vector<double>> best_;
  std::vector<std::vector<int>> begin_;
};

std::string nodeName(const CutGraph &graph, int node) { return "'" + graph.nodes[node].name + "'"; }

// Returns the largest possible number of stages, without the memory limit, pins and boundaries of the request.
int mostStages(const CutGraph &graph, CutRequest request) {
  request.memoryLimit = 0;
  request.pins.clear();
  request.boundaries.clear();
  Segments segments(graph, request);
  int stages = 0;
  for (int node = 0; node < static_cast<int>(graph.nodes.size()); ++node)
    stages += segments.mayBegin(node);
  return stages;
}

std::optional<Problem> checkNumbers(const CutGraph &graph, const CutRequest &request) {
  int nodes = static_cast<int>(graph.nodes.size());
  if (request.stages < 1)
    return Problem{"a pipeline has at least one stage, got " + std::to_string(request.stages)};
  if (request.stages > nodes)
    return Problem{"the model cannot be cut into " + std::to_string(request.stages) + " stages: it has " +
                   std::to_string(nodes) +
                   " operations, and each stage needs one that it can begin with; use at most " +
                   std::to_string(mostStages(graph, request)) + " stages"};
  if (!request.boundaries.empty() && static_cast<int>(request.boundaries.size()) + 1 != request.stages)
    return Problem{std::to_string(request.boundaries.size()) + " boundaries make " +
                   std::to_string(request.boundaries.size() + 1) + " stages, asked for are " +
                   std::to_string(request.stages) + ": name " + std::to_string(request.stages - 1) + " boundaries"};
  int matched = static_cast<int>(std::count(request.isMatched.begin(), request.isMatched.end(), true));
  if (request.mode == CutMode::Pattern && matched < request.stages)
    return Problem{"the pattern of the stages matches " + std::to_string(matched) + " operations: too few for " +
                   std::to_string(request.stages) + " stages; use a pattern that matches more, or at most " +
                   std::to_string(std::max(1, matched)) + " stages"};
  return std::nullopt;
}

// Finds a boundary that the other bounds do not allow.
std::optional<Problem> checkBoundaries(const CutGraph &graph, const CutRequest &request) {
  for (size_t i = 0; i < request.boundaries.size(); ++i) {
    int boundary = request.boundaries[i];
    if (boundary <= (i == 0 ? 0 : request.boundaries[i - 1]) || boundary >= static_cast<int>(graph.nodes.size()))
      return Problem{
          "boundary " + nodeName(graph, std::clamp<int>(boundary, 0, graph.nodes.size() - 1)) +
          (i == 0 ? " leaves no operation before it" : " comes before the boundary that is named before it") +
          ": name boundaries in the order of the model"};
    for (auto [a, b] : request.together)
      if (std::min(a, b) < boundary && boundary <= std::max(a, b))
        return Problem{"a stage cannot begin at " + nodeName(graph, boundary) + ": " + nodeName(graph, std::min(a, b)) +
                       " and " + nodeName(graph, std::max(a, b)) +
                       " must be in one stage; move the boundary to before the first or after the second"};
  }
  return std::nullopt;
}

std::optional<Problem> checkPins(const CutGraph &graph, const CutRequest &request) {
  std::vector<std::pair<int, int>> pins = request.pins;
  std::sort(pins.begin(), pins.end());
  for (size_t i = 0; i < pins.size(); ++i) {
    if (pins[i].second < 0 || pins[i].second >= request.stages)
      return Problem{nodeName(graph, pins[i].first) + " is pinned to stage " + std::to_string(pins[i].second) +
                     ", the last is " + std::to_string(request.stages - 1)};
    if (i > 0 && pins[i].first == pins[i - 1].first && pins[i].second != pins[i - 1].second)
      return Problem{nodeName(graph, pins[i].first) + " is pinned to two stages, " +
                     std::to_string(pins[i - 1].second) + " and " + std::to_string(pins[i].second) + ": pin it to one"};
    if (i > 0 && pins[i].second < pins[i - 1].second)
      return Problem{nodeName(graph, pins[i].first) + " is pinned to stage " + std::to_string(pins[i].second) +
                     ", and " + nodeName(graph, pins[i - 1].first) + ", which comes before it, to the later stage " +
                     std::to_string(pins[i - 1].second) + ": pin it to stage " + std::to_string(pins[i - 1].second) +
                     " or a later one"};
  }
  return std::nullopt;
}

// Finds two nodes whose stages are further apart than the number of stages that can begin between them. The first node
// is in the first stage, and the last one in the last.
std::optional<Problem> findDistantPins(const CutGraph &graph, const CutRequest &request) {
  std::vector<std::pair<int, int>> pins = request.pins;
  pins.insert(pins.end(), {{0, 0}, {static_cast<int>(graph.nodes.size()) - 1, request.stages - 1}});
  std::sort(pins.begin(), pins.end());
  Segments segments(graph, request);
  for (size_t i = 1; i < pins.size(); ++i) {
    auto [before, first] = pins[i - 1];
    auto [node, second] = pins[i];
    int room = 0;
    for (int between = before + 1; between <= node; ++between)
      room += segments.mayBegin(between);
    if (second != first && before == node)
      return Problem{nodeName(graph, node) + " is pinned to stage " + std::to_string(node == 0 ? second : first) +
                     ", but the model's " + (node == 0 ? "first" : "last") + " operation is in stage " +
                     std::to_string(node == 0 ? first : second) + ": pin it there"};
    if (second - first > room)
      return Problem{
          nodeName(graph, before) + " is in stage " + std::to_string(first) + " and " + nodeName(graph, node) +
          " in stage " + std::to_string(second) + ", but from the one to the other a new stage can begin at " +
          std::to_string(room) + " operations: " +
          (room == 0 ? "put both in one stage" : "put them at most " + std::to_string(room) + " stages apart")};
  }
  return std::nullopt;
}

// Explains why there is no cut: names the bound without which there is one.
Problem explain(const CutGraph &graph, const CutRequest &request) {
  std::string stages = std::to_string(request.stages) + " stages";
  int most = mostStages(graph, request);
  if (request.boundaries.empty() && most < request.stages)
    return {"the model cannot be cut into " + stages + ": operations that must stay together leave room for " +
            std::to_string(most) + "; use at most " + std::to_string(most) + " stages"};
  CutRequest relaxed = request;
  relaxed.memoryLimit = 0;
  if (Cutter cutter(graph, relaxed); request.memoryLimit > 0 && cutter.run()) {
    // Find the least limit that works: halve the distance between one that does not and one that does.
    int64_t no = request.memoryLimit, yes = 0;
    for (const CutStage &stage : cutter.result().stages)
      yes = std::max(yes, stage.memory);
    while (yes - no > std::max<int64_t>(1, yes / 1000)) {
      relaxed.memoryLimit = no + (yes - no) / 2;
      (Cutter(graph, relaxed).run() ? yes : no) = relaxed.memoryLimit;
    }
    return {"no cut into " + stages + " fits " + rt::exactBytesText(static_cast<uint64_t>(request.memoryLimit)) +
            " a stage; " + rt::exactBytesText(static_cast<uint64_t>(yes)) + " would do, or more stages"};
  }
  if (std::optional<Problem> problem = findDistantPins(graph, request))
    return *problem;
  return {"no cut into " + stages +
          " keeps all pins: between two of them there are too few operations for the stages between them, or "
          "operations that must stay together; remove a pin"};
}

} // namespace

Result<Cut> cutGraph(const CutGraph &graph, const CutRequest &request) {
  for (auto check : {checkNumbers, checkBoundaries, checkPins})
    if (std::optional<Problem> problem = check(graph, request))
      return *problem;
  Cutter cutter(graph, request);
  if (!cutter.run())
    return explain(graph, request);
  return cutter.result();
}

} // namespace cleave::pipeline
