// Builds the lists of schedules. A chunk's actions take micro-batches in ascending order, so that the file of a
// schedule says only which action of which chunk comes next.
#ifndef CLEAVE_COMPILER_PIPELINE_SCHEDULEBUILDER_H
#define CLEAVE_COMPILER_PIPELINE_SCHEDULEBUILDER_H

#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

class ScheduleBuilder {
public:
  ScheduleBuilder(int chunks, int microBatches) : microBatches_(microBatches), next_(chunks) {}

  // Adds the action with the chunk's next micro-batch. Returns false, and adds no task, if all are done.
  bool forward(int chunk) { return add(Action::Forward, chunk, next_[chunk].forward); }
  bool backward(int chunk) {
    Next &next = next_[chunk];
    if (!add(Action::Backward, chunk, next.input))
      return false;
    ++next.weight;
    return true;
  }
  bool backwardInput(int chunk) { return add(Action::BackwardInput, chunk, next_[chunk].input); }
  bool backwardWeight(int chunk) { return add(Action::BackwardWeight, chunk, next_[chunk].weight); }

  int forwards(int chunk) const { return next_[chunk].forward; }
  int inputs(int chunk) const { return next_[chunk].input; }
  int weights(int chunk) const { return next_[chunk].weight; }

  std::vector<Task> take() { return std::move(tasks_); }

private:
  struct Next {
    int forward = 0, input = 0, weight = 0;
  };

  bool add(Action action, int chunk, int &next) {
    if (next == microBatches_)
      return false;
    tasks_.push_back({action, chunk, next++});
    return true;
  }

  int microBatches_;
  std::vector<Next> next_;
  std::vector<Task> tasks_;
};

} // namespace cleave::pipeline

#endif
