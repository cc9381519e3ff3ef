// Measures a run of nodes as a stage. The run [begin, end) grows node by node: startAt(begin), extendTo(begin + 1), ...
#ifndef CLEAVE_COMPILER_PIPELINE_CUTSEGMENTS_H
#define CLEAVE_COMPILER_PIPELINE_CUTSEGMENTS_H

#include "compiler/Pipeline/Cut.h"

namespace cleave::pipeline {

class Segments {
public:
  Segments(const CutGraph &graph, const CutRequest &request);

  // True if a stage may begin at this node.
  bool mayBegin(int node) const { return mayBegin_[node]; }

  // Returns what the node costs in any run. In some runs it also adds states or messages.
  double leastOf(int node) const { return measureOf(graph_.nodes[node]); }

  void startAt(int begin);
  void extendTo(int end); // must be one more than before

  double time() const { return measure_ + request_.transferCost * static_cast<double>(received_); }
  int64_t received() const { return received_; }
  int64_t states() const { return states_; }
  int64_t activations(int stage) const; // in all frames, received values included
  int64_t memory(int stage) const;
  bool fits(int stage) const;

private:
  double measureOf(const CutNode &node) const;

  const CutGraph &graph_;
  const CutRequest &request_;
  std::vector<bool> mayBegin_;
  std::vector<int> pinOf_;             // -1: none
  std::vector<std::vector<int>> into_; // edges by user
  // Facts of the current run:
  int begin_ = 0;
  double measure_ = 0;
  int64_t received_ = 0, states_ = 0, activations_ = 0;
  int leastPin_ = 0, mostPin_ = 0;
  std::vector<int> edgeSeen_, stateSeen_; // the first node of the run that uses it; -1: none
};

} // namespace cleave::pipeline

#endif
