#include "compiler/Pipeline/Schedules.h"

#include "compiler/Pipeline/Check.h"
#include "runtime/base/NearestName.h"

#include <climits>

namespace cleave::pipeline {

const std::vector<ScheduleKind> &scheduleKinds() {
  static const std::vector<ScheduleKind> kinds = {
      {"naive", "one micro-batch at a time: one rank is busy", 1, 1, makeNaive},
      {"gpipe", "all forward passes, then all backward passes", 1, 1, makeGPipe},
      {"1f1b", "forward and backward passes in turn, with few micro-batches alive", 1, 1, makeOneForwardOneBackward},
      {"eager-1f1b", "1f1b that runs further ahead, so that slow messages are hidden; about twice its memory", 1, 1,
       makeEagerOneForwardOneBackward},
      {"interleaved-1f1b", "1f1b with several chunks a rank: less idle time, more messages", 2, INT_MAX,
       makeInterleaved},
      {"zb-h1", "zero bubble: weight gradients fill idle time, with the memory of 1f1b", 1, 1, makeZeroBubbleH1},
      {"zb-h2", "zero bubble: no idle time between steps, with twice the memory of 1f1b", 1, 1, makeZeroBubbleH2},
      {"dualpipe-v", "two chunks a rank, down the ranks and up again", 2, 2, makeDualPipeV},
  };
  return kinds;
}

static std::optional<Problem> checkChunks(const ScheduleKind &kind, int chunksPerRank) {
  if (chunksPerRank >= kind.leastChunks && chunksPerRank <= kind.mostChunks)
    return std::nullopt;
  std::string expected =
      kind.mostChunks == INT_MAX ? "at least " + std::to_string(kind.leastChunks) : std::to_string(kind.leastChunks);
  return Problem{"schedule " + std::string(kind.name) + " needs " + expected + " chunks a rank, got " +
                 std::to_string(chunksPerRank) +
                 (kind.leastChunks > chunksPerRank
                      ? ": ask for more chunks, or use 1f1b, which needs 1"
                      : ": ask for fewer, or use interleaved-1f1b, which takes any number from 2 on")};
}

// Limits the number of tasks: a forward and a backward pass of each chunk and micro-batch. A larger schedule would fill
// the machine's memory before anything checks whether the model has as many chunks.
static std::optional<Problem> checkSize(const std::string &name, const ScheduleRequest &request) {
  constexpr int64_t kMostTasks = 1 << 22;
  int64_t left = kMostTasks / 2;
  for (int number : {request.ranks, request.chunksPerRank, request.microBatches})
    left /= number;
  if (left > 0)
    return std::nullopt;
  return Problem{"schedule " + name + " has more than " + std::to_string(kMostTasks) + " tasks with " +
                 std::to_string(request.ranks) + " ranks, " + std::to_string(request.chunksPerRank) +
                 " chunks a rank and " + std::to_string(request.microBatches) +
                 " micro-batches: use fewer chunks or micro-batches"};
}

Result<Schedule> makeSchedule(const std::string &name, ScheduleRequest request) {
  for (const ScheduleKind &kind : scheduleKinds()) {
    if (name != kind.name)
      continue;
    if (request.ranks < 1 || request.microBatches < 1 || request.chunksPerRank < 0)
      return Problem{"schedule " + name + " needs at least one rank and one micro-batch, got " +
                     std::to_string(request.ranks) + " ranks, " + std::to_string(request.microBatches) +
                     " micro-batches and " + std::to_string(request.chunksPerRank) + " chunks a rank"};
    if (request.chunksPerRank == 0)
      request.chunksPerRank = kind.leastChunks;
    if (std::optional<Problem> problem = checkChunks(kind, request.chunksPerRank))
      return *problem;
    if (std::optional<Problem> problem = checkSize(name, request))
      return *problem;
    Result<Schedule> schedule = kind.make(request);
    if (!schedule)
      return schedule;
    schedule->name = name;
    for (std::vector<Task> &tasks : schedule->ranks)
      tasks.push_back(Task::update());
    if (auto found = checkSchedule(*schedule, ChunkGraph::chain(schedule->numChunks())))
      return Problem{"internal error: schedule " + name + " breaks its own rules: " + found->problem.message};
    return schedule;
  }
  std::vector<std::string> names;
  for (const ScheduleKind &kind : scheduleKinds())
    names.push_back(kind.name);
  return Problem{"there is no schedule '" + name + "': use one of " + rt::joinNames(names) + ", or a file" +
                 rt::didYouMean(name, names)};
}

} // namespace cleave::pipeline
