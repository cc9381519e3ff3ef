#include "compiler/Pipeline/CutSegments.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cleave::pipeline {

Segments::Segments(const CutGraph &graph, const CutRequest &request)
    : graph_(graph), request_(request), mayBegin_(graph.nodes.size(), true), pinOf_(graph.nodes.size(), -1),
      into_(graph.nodes.size()), edgeSeen_(graph.edges.size(), -1), stateSeen_(graph.stateBytes.size(), -1) {
  if (!request.boundaries.empty()) {
    mayBegin_.assign(graph.nodes.size(), false);
    mayBegin_[0] = true;
    for (int boundary : request.boundaries)
      mayBegin_[boundary] = true;
  }
  for (auto [a, b] : request.together)
    for (int node = std::min(a, b) + 1; node <= std::max(a, b); ++node)
      mayBegin_[node] = false;
  for (auto [node, stage] : request.pins)
    pinOf_[node] = stage;
  for (int number = 0; number < static_cast<int>(graph.edges.size()); ++number)
    for (int user : graph.edges[number].to)
      into_[user].push_back(number);
}

double Segments::measureOf(const CutNode &node) const {
  switch (request_.mode) {
  case CutMode::Auto:
    return node.cost;
  case CutMode::Uniform:
    return 1;
  case CutMode::Parameters: // extendTo() adds the states
    return 0;
  case CutMode::Pattern:
    return request_.isMatched[&node - graph_.nodes.data()];
  }
  return 0;
}

void Segments::startAt(int begin) {
  begin_ = begin;
  measure_ = 0;
  received_ = states_ = activations_ = 0;
  leastPin_ = std::numeric_limits<int>::max();
  mostPin_ = -1;
  // Forget the marks of earlier runs, of which one may have begun at the same node.
  std::fill(edgeSeen_.begin(), edgeSeen_.end(), -1);
  std::fill(stateSeen_.begin(), stateSeen_.end(), -1);
}

void Segments::extendTo(int end) {
  int number = end - 1;
  const CutNode &node = graph_.nodes[number];
  measure_ += measureOf(node);
  activations_ += node.activationBytes;
  for (int state : node.states)
    if (stateSeen_[state] < 0) {
      stateSeen_[state] = number;
      states_ += graph_.stateBytes[state];
      if (request_.mode == CutMode::Parameters)
        measure_ += static_cast<double>(graph_.stateBytes[state]);
    }
  for (int edge : into_[number])
    if (graph_.edges[edge].from < begin_ && edgeSeen_[edge] < 0) {
      edgeSeen_[edge] = number;
      received_ += graph_.edges[edge].bytes;
    }
  if (pinOf_[number] >= 0) {
    leastPin_ = std::min(leastPin_, pinOf_[number]);
    mostPin_ = std::max(mostPin_, pinOf_[number]);
  }
}

int64_t Segments::activations(int stage) const {
  int frames = stage < static_cast<int>(request_.frames.size()) ? request_.frames[stage] : 1;
  return frames * (activations_ + received_);
}

int64_t Segments::memory(int stage) const {
  if (stage >= static_cast<int>(request_.scales.size()))
    return states_ + activations(stage);
  const MemoryScale &scale = request_.scales[stage];
  return std::llround(scale.states * static_cast<double>(states_) +
                      scale.activations * static_cast<double>(activations(stage)));
}

bool Segments::fits(int stage) const {
  if (mostPin_ >= 0 && (leastPin_ != stage || mostPin_ != stage))
    return false;
  return request_.memoryLimit == 0 || memory(stage) <= request_.memoryLimit;
}

} // namespace cleave::pipeline
