#include "compiler/Pipeline/Folding.h"

#include <algorithm>

namespace cleave::pipeline {

// Returns the stride with which the `length` tasks from `begin` on repeat directly after them; 0: they do not.
static int strideOf(const std::vector<Task> &tasks, int begin, int length) {
  int stride = 0;
  for (int i = begin; i < begin + length; ++i) {
    const Task &now = tasks[i], &next = tasks[i + length];
    int step = next.microBatch - now.microBatch;
    if (now.action == Action::Update || now.action != next.action || now.chunk != next.chunk || step <= 0 ||
        (stride != 0 && step != stride))
      return 0;
    stride = step;
  }
  return stride;
}

// Returns how often they come in a row, always with this stride.
static int timesOf(const std::vector<Task> &tasks, int begin, int length, int stride) {
  int times = 1, count = static_cast<int>(tasks.size());
  for (int at = begin; at + 2 * length <= count && strideOf(tasks, at, length) == stride; at += length)
    ++times;
  return times;
}

std::vector<Run> fold(const std::vector<Task> &tasks, int longest) {
  std::vector<Run> runs;
  int count = static_cast<int>(tasks.size());
  for (int begin = 0; begin < count;) {
    int length = 1, times = 1, stride = 0;
    for (int tried = 1; tried <= longest && begin + 2 * tried <= count; ++tried) {
      int found = strideOf(tasks, begin, tried);
      int repeated = found > 0 ? timesOf(tasks, begin, tried, found) : 1;
      // A repetition of twice the length, half as often, covers as much: the shorter one stays.
      if (repeated > 1 && repeated * tried > times * length) {
        length = tried;
        times = repeated;
        stride = found;
      }
    }
    // A task that does not repeat goes to the run before it, if that does not repeat either.
    if (times == 1 && !runs.empty() && runs.back().times == 1)
      runs.back().tasks.push_back(tasks[begin]);
    else
      runs.push_back({{tasks.begin() + begin, tasks.begin() + begin + length}, times, stride});
    begin += length * times;
  }
  return runs;
}

} // namespace cleave::pipeline
