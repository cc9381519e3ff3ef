#include "compiler/Planning/Build/StageLists.h"

#include <algorithm>

namespace cleave::plan {

namespace {
// The life of one micro-batch's value in a stage buffer, as positions in the list.
struct Life {
  int written = -1, firstRead = -1, last = -1;
};
} // namespace

// Micro-batches go through a stage buffer in ascending order, so those that are alive at a time are consecutive.
static int framesOf(const std::vector<Life> &lives) {
  int frames = 1, oldest = 0;
  for (int i = 0; i < static_cast<int>(lives.size()); ++i) {
    if (lives[i].last < 0)
      continue;
    while (oldest < i && lives[oldest].last < lives[i].written)
      ++oldest;
    frames = std::max(frames, i - oldest + 1);
  }
  return frames;
}

// Lets each life begin as early as its receive may begin.
static void receiveAhead(const std::vector<StageCall> &calls, const Transferred &transferred,
                         std::vector<Life> &lives) {
  constexpr int kTasksAhead = 2;
  std::vector<int> tasks; // positions
  for (int at = 0; at < static_cast<int>(calls.size()); ++at)
    if (!transferred.programs.count(calls[at].program))
      tasks.push_back(at);
  for (Life &life : lives) {
    if (life.firstRead < 0)
      continue;
    auto reader = std::lower_bound(tasks.begin(), tasks.end(), life.firstRead) - tasks.begin();
    life.written = std::min(life.written, tasks[std::max<long>(0, reader - kTasksAhead)]);
  }
}

std::map<std::string, StageBuffer> stageBuffersOf(const std::vector<StageCall> &calls,
                                                  const std::map<std::string, StageBufferUses> &uses,
                                                  const Transferred &transferred, int microBatches) {
  std::map<std::string, std::vector<Life>> lives;
  auto lifeOf = [&](const std::string &stageBuffer, int microBatch) -> Life & {
    return lives.try_emplace(stageBuffer, microBatches).first->second[microBatch];
  };
  for (int at = 0; at < static_cast<int>(calls.size()); ++at) {
    const StageBufferUses &used = uses.at(calls[at].program);
    for (const std::string &stageBuffer : used.reads) {
      Life &life = lifeOf(stageBuffer, calls[at].microBatch);
      life.firstRead = life.firstRead < 0 ? at : life.firstRead;
      life.last = at;
    }
    for (const std::string &stageBuffer : used.writes) {
      Life &life = lifeOf(stageBuffer, calls[at].microBatch);
      life.written = life.last = at;
    }
  }
  std::map<std::string, StageBuffer> stageBuffers;
  for (auto &[name, ofStageBuffer] : lives) {
    if (transferred.received.count(name))
      receiveAhead(calls, transferred, ofStageBuffer);
    StageBuffer &stageBuffer = stageBuffers[name];
    stageBuffer.frames =
        std::min(microBatches, framesOf(ofStageBuffer) + static_cast<int>(transferred.sent.count(name)));
    for (const Life &life : ofStageBuffer) {
      if (life.last < 0) // the first micro-batch's bodies may keep other values
        continue;
      if (life.firstRead >= 0)
        stageBuffer.firstReaders.insert(calls[life.firstRead].program);
      stageBuffer.lastReaders.insert(calls[life.last].program);
    }
  }
  return stageBuffers;
}

FoldedCalls foldCalls(const std::vector<StageCall> &calls) {
  std::vector<std::string> names;
  std::map<std::string, int> numbers;
  std::vector<pipeline::Task> tasks;
  for (const StageCall &call : calls) {
    auto [known, isNew] = numbers.try_emplace(call.program, static_cast<int>(names.size()));
    if (isNew)
      names.push_back(call.program);
    tasks.push_back({pipeline::Action::Forward, known->second, call.microBatch});
  }
  FoldedCalls folded;
  for (const pipeline::Run &run : pipeline::fold(tasks)) {
    const pipeline::Task &first = run.tasks.front();
    if (run.times > 1 && run.tasks.size() > 1) {
      std::string loop = "loop." + std::to_string(folded.loops.size());
      for (const pipeline::Task &task : run.tasks)
        folded.loops[loop].push_back({names[task.chunk], 1, task.microBatch - first.microBatch});
      folded.calls.push_back({loop, run.times, first.microBatch, run.stride});
    } else if (run.times > 1) {
      folded.calls.push_back({names[first.chunk], run.times, first.microBatch, run.stride});
    } else {
      for (const pipeline::Task &task : run.tasks)
        folded.calls.push_back({names[task.chunk], 1, task.microBatch});
    }
  }
  return folded;
}

} // namespace cleave::plan
