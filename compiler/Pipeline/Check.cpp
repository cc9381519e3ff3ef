#include "compiler/Pipeline/Check.h"

#include "compiler/Pipeline/Dependences.h"

namespace cleave::pipeline {

using Found = std::optional<ScheduleProblem>;

static Found problemAt(int rank, int position, std::string message) {
  return ScheduleProblem{{std::move(message)}, {rank, position}};
}

static std::string rankName(int rank) { return "rank " + std::to_string(rank); }

static Found checkPlacement(const Schedule &schedule, const ChunkGraph &graph) {
  if (schedule.numRanks() == 0 || schedule.microBatches <= 0)
    return problemAt(-1, -1,
                     "a schedule needs at least one rank and one micro-batch, got " +
                         std::to_string(schedule.numRanks()) + " ranks and " + std::to_string(schedule.microBatches) +
                         " micro-batches");
  if (graph.chunks != schedule.numChunks())
    return problemAt(-1, -1,
                     "the schedule is for " + std::to_string(schedule.numChunks()) + " chunks, the model has " +
                         std::to_string(graph.chunks) + ": cut it into as many as the schedule has");
  for (int chunk = 0; chunk < schedule.numChunks(); ++chunk)
    if (int rank = schedule.rankOfChunk[chunk]; rank < 0 || rank >= schedule.numRanks())
      return problemAt(-1, -1,
                       "chunk " + std::to_string(chunk) + " is on " + rankName(rank) + ", there are " +
                           std::to_string(schedule.numRanks()) + " ranks");
  return std::nullopt;
}

static Found checkEachHasAChunk(const Schedule &schedule) {
  std::vector<bool> has(schedule.numRanks());
  for (int rank : schedule.rankOfChunk)
    has[rank] = true;
  for (int rank = 0; rank < schedule.numRanks(); ++rank)
    if (!has[rank])
      return problemAt(rank, -1, rankName(rank) + " has no chunk: use fewer ranks or cut the model into more chunks");
  return std::nullopt;
}

namespace {
// The parts of a chunk's work on a micro-batch that the lists have had so far.
struct Done {
  bool forward = false, input = false, weight = false;
};
} // namespace

// Checks rules 2 to 4 for one list, task by task.
namespace {
class ListChecker {
public:
  ListChecker(const Schedule &schedule, std::vector<Done> &done)
      : schedule_(schedule), done_(done), next_(static_cast<size_t>(schedule.numChunks()) * 3) {}

  Found check(int rank) {
    const std::vector<Task> &tasks = schedule_.ranks[rank];
    for (int position = 0; position < static_cast<int>(tasks.size()); ++position) {
      bool last = position + 1 == static_cast<int>(tasks.size());
      std::string wrong =
          tasks[position].action == Action::Update ? checkUpdate(last) : checkTask(rank, tasks[position]);
      if (!wrong.empty())
        return problemAt(rank, position, wrong);
    }
    if (tasks.empty() || tasks.back().action != Action::Update)
      return problemAt(rank, -1, rankName(rank) + " does not end with an update");
    return std::nullopt;
  }

private:
  static std::string checkUpdate(bool last) {
    return last ? "" : "the update is not the last task of its rank: it uses all gradients of the step";
  }

  std::string checkTask(int rank, const Task &task) {
    std::string name = toString(task);
    if (task.chunk < 0 || task.chunk >= schedule_.numChunks())
      return name + ": there is no chunk " + std::to_string(task.chunk) + ", the last is " +
             std::to_string(schedule_.numChunks() - 1);
    if (task.microBatch < 0 || task.microBatch >= schedule_.microBatches)
      return name + ": there is no micro-batch " + std::to_string(task.microBatch) + ", the last is " +
             std::to_string(schedule_.microBatches - 1);
    if (schedule_.rankOfChunk[task.chunk] != rank)
      return name + " is in the list of " + rankName(rank) + ", but chunk " + std::to_string(task.chunk) + " is on " +
             rankName(schedule_.rankOfChunk[task.chunk]) + ": all tasks of a chunk are on one rank";
    Done &done = done_[static_cast<size_t>(task.chunk) * schedule_.microBatches + task.microBatch];
    switch (task.action) {
    case Action::Forward:
      return take(task, 0, done.forward, true, "");
    case Action::Backward:
      if (done.weight && !done.input)
        return name + " comes after the W of the same micro-batch: a B is both I and W";
      if (std::string wrong = take(task, 1, done.input, done.forward, "F"); !wrong.empty())
        return wrong;
      return take(task, 2, done.weight, done.forward, "F");
    case Action::BackwardInput:
      return take(task, 1, done.input, done.forward, "F");
    case Action::BackwardWeight:
      return take(task, 2, done.weight, done.input, "I");
    case Action::Update:
      break;
    }
    return "";
  }

  // `part` is one of F, I, W of the task's chunk; B takes two of them.
  std::string take(const Task &task, int part, bool &done, bool ready, const char *needs) {
    std::string name = toString(task);
    if (done)
      return name + " is done twice" + (part > 0 ? ": a micro-batch has one B, or one I and one W" : "");
    if (!ready)
      return name + " comes before the " + needs + " of the same chunk and micro-batch, which it needs";
    int &expected = next_[static_cast<size_t>(task.chunk) * 3 + part];
    if (task.microBatch != expected)
      return name + " comes before micro-batch " + std::to_string(expected) +
             ": a chunk takes micro-batches in ascending order, which keeps the order of its sums";
    ++expected;
    done = true;
    return "";
  }

  const Schedule &schedule_;
  std::vector<Done> &done_;
  std::vector<int> next_; // the micro-batch whose turn it is, for F, I and W of each chunk
};
} // namespace

static Found checkComplete(const Schedule &schedule, const std::vector<Done> &done) {
  for (int chunk = 0; chunk < schedule.numChunks(); ++chunk)
    for (int i = 0; i < schedule.microBatches; ++i) {
      const Done &of = done[static_cast<size_t>(chunk) * schedule.microBatches + i];
      Action missing = !of.forward ? Action::Forward : !of.input ? Action::Backward : Action::BackwardWeight;
      if (!of.forward || !of.input || !of.weight)
        return problemAt(schedule.rankOfChunk[chunk], -1,
                         toString(Task{missing, chunk, i}) + " is missing in the list of " +
                             rankName(schedule.rankOfChunk[chunk]) +
                             ": each chunk has one F and one B (or I and W) for each micro-batch");
    }
  return std::nullopt;
}

// Runs all lists as far as they come. If some ranks do not come to their end, follows who waits for whom until a rank
// repeats.
static Found checkWaits(const Schedule &schedule, const ChunkGraph &graph) {
  TaskTable table(schedule);
  std::vector<std::vector<int>> before = dependences(table, schedule, graph);
  std::vector<bool> done(table.size());
  std::vector<int> position(schedule.numRanks());
  auto isAtEnd = [&](int rank) { return position[rank] == static_cast<int>(schedule.ranks[rank].size()); };
  // Returns the task that the head of the rank's list waits for; -1: none.
  auto awaited = [&](int rank) {
    for (int other : before[table.number(rank, position[rank])])
      if (!done[other])
        return other;
    return -1;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < schedule.numRanks(); ++rank)
      for (; !isAtEnd(rank) && awaited(rank) < 0; moved = true)
        done[table.number(rank, position[rank]++)] = true;
  }
  int stuck = 0;
  while (stuck < schedule.numRanks() && isAtEnd(stuck))
    ++stuck;
  if (stuck == schedule.numRanks())
    return std::nullopt;
  // Go to a rank of the circle, then around it once.
  for (int step = 0; step < schedule.numRanks(); ++step)
    stuck = table.rankOf(awaited(stuck));
  std::string circle;
  int rank = stuck;
  do {
    int other = awaited(rank);
    circle += (circle.empty() ? "" : "; ") + rankName(rank) + " stands at " +
              toString(schedule.ranks[rank][position[rank]]) + " and waits for " + toString(table.task(other)) +
              " of " + rankName(table.rankOf(other));
    rank = table.rankOf(other);
  } while (rank != stuck);
  return problemAt(stuck, position[stuck], "the schedule deadlocks: " + circle);
}

Found checkSchedule(const Schedule &schedule, const ChunkGraph &graph) {
  if (Found found = checkPlacement(schedule, graph))
    return found;
  std::vector<Done> done(static_cast<size_t>(schedule.numChunks()) * schedule.microBatches);
  ListChecker checker(schedule, done);
  for (int rank = 0; rank < schedule.numRanks(); ++rank)
    if (Found found = checker.check(rank))
      return found;
  if (Found found = checkEachHasAChunk(schedule))
    return found;
  if (Found found = checkComplete(schedule, done))
    return found;
  return checkWaits(schedule, graph);
}

} // namespace cleave::pipeline
