#include "compiler/Inspect/Parameters.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/Summary.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <map>

namespace cleave::view {

using namespace rt;

std::string storageOf(const fb::Plan &kind, const fb::State &state) {
  std::vector<std::string> parts = {fb::EnumNameDType(state.dtype())};
  if (lengthOf(state.split_axes()) != 0)
    parts.push_back("split over " + axesText(kind, state.split_axes()));
  if (lengthOf(state.partial_axes()) != 0)
    parts.push_back("each rank of " + axesText(kind, state.partial_axes()) + " its own sum");
  if (kind.regions()->Get(state.region())->space() == fb::Space::host)
    parts.push_back("in host memory");
  return join(parts, ", ");
}

namespace {

// A tensor while its states are collected, from all kinds that declare it.
struct Collected {
  ParameterRow row;
  std::vector<std::string> ways;   // in the order of the plan, parameter first
  std::vector<std::string> stages; // kinds of ranks
};

uint64_t elementsOf(const fb::Segment &segment) {
  uint64_t elements = 1;
  for (uint32_t i = 0; i < lengthOf(segment.shape()); ++i)
    elements *= static_cast<uint64_t>(segment.shape()->Get(i));
  return elements;
}

class Collector {
public:
  explicit Collector(const fb::Plan &plan) : plan_(plan) {
    for (const fb::Plan *kind : kindsOf(plan))
      for (bool parameters : {true, false})
        for (uint32_t i = 0; i < lengthOf(kind->states()); ++i)
          if (const fb::State &state = *kind->states()->Get(i); (state.role() == fb::Role::parameter) == parameters)
            add(*kind, state);
  }

  Parameters take() {
    Parameters result;
    std::map<std::vector<std::string>, size_t> known;
    for (Collected &tensor : tensors_) {
      if (!textOf(plan_.kind()).empty())
        tensor.ways.push_back("on " + join(tensor.stages, ", "));
      auto [way, isNew] = known.try_emplace(tensor.ways, result.ways.size());
      if (isNew)
        result.ways.push_back(tensor.ways);
      tensor.row.way = way->second;
      result.rows.push_back(std::move(tensor.row));
    }
    std::stable_sort(result.rows.begin(), result.rows.end(),
                     [](const ParameterRow &a, const ParameterRow &b) { return a.bytes > b.bytes; });
    return result;
  }

private:
  static std::string roleOf(const fb::State &state) {
    if (state.role() == fb::Role::optimizer)
      return textOf(state.slot()) == "master" ? "master copy" : std::string(textOf(state.slot()));
    return fb::EnumNameRole(state.role());
  }

  void add(const fb::Plan &kind, const fb::State &state) {
    for (uint32_t i = 0; i < lengthOf(state.segments()); ++i) {
      const fb::Segment &segment = *state.segments()->Get(i);
      std::string name(textOf(segment.name()));
      auto found = known_.find(name);
      if (found == known_.end()) {
        if (state.role() != fb::Role::parameter)
          continue;
        found = known_.emplace(name, tensors_.size()).first;
        tensors_.push_back({rowOf(state, segment), {}, {}});
      }
      Collected &tensor = tensors_[found->second];
      addOnce(tensor.ways, roleOf(state) + " " + storageOf(kind, state));
      addOnce(tensor.stages, std::string(textOf(kind.kind())));
      if (state.role() == fb::Role::parameter && lengthOf(plan_.param_groups()) > 1)
        addOnce(tensor.ways, "group " + shortName(textOf(plan_.param_groups()->Get(segment.group())->name()), 30));
    }
  }

  static void addOnce(std::vector<std::string> &list, std::string text) {
    if (std::find(list.begin(), list.end(), text) == list.end())
      list.push_back(std::move(text));
  }

  static ParameterRow rowOf(const fb::State &state, const fb::Segment &segment) {
    ParameterRow row;
    row.name = textOf(segment.name());
    if (segment.shape())
      row.shape.assign(segment.shape()->begin(), segment.shape()->end());
    for (uint32_t i = 0; i < lengthOf(segment.aliases()); ++i)
      row.aliases.emplace_back(textOf(segment.aliases()->Get(i)));
    row.bytes = elementsOf(segment) * dtypeSize(state.dtype());
    row.state = textOf(state.name());
    return row;
  }

  const fb::Plan &plan_;
  std::vector<Collected> tensors_;
  std::map<std::string, size_t> known_;
};

// A, B, ..., Z, AA, AB, ...
std::string letterOf(size_t number) {
  std::string text(1, static_cast<char>('A' + number % 26));
  return number < 26 ? text : letterOf(number / 26 - 1) + text;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

} // namespace

Parameters parametersOf(const fb::Plan &plan) { return Collector(plan).take(); }

std::string parametersText(const fb::Plan &plan) {
  Parameters parameters = parametersOf(plan);
  if (parameters.rows.empty())
    return headline(plan) + "\nno parameters\n";
  std::vector<size_t> tensors(parameters.ways.size());
  std::vector<uint64_t> bytes(parameters.ways.size());
  for (const ParameterRow &row : parameters.rows) {
    ++tensors[row.way];
    bytes[row.way] += row.bytes;
  }
  std::string text =
      headline(plan) +
      "\nHOW PARAMETERS ARE KEPT (every rank of an axis stores an equal part of a tensor that is split over it)\n"
      "Sizes exclude the padding between tensors; the summary includes it.\n";
  for (size_t way = 0; way < parameters.ways.size(); ++way) {
    text += "  " + padRight(letterOf(way), 3) + padLeft(bytesText(bytes[way]), 10) + "  " +
            countOf(tensors[way], "tensor") + "\n";
    for (const std::string &part : parameters.ways[way])
      text += "                 " + part + "\n";
  }
  text += "\nTENSORS, the largest first: bytes of the whole tensor, how it is kept, state that it is part of\n";
  size_t states = 0, shapes = 0;
  for (const ParameterRow &row : parameters.rows) {
    states = std::max(states, std::min<size_t>(shortName(row.state, 20).size(), 20));
    shapes = std::max(shapes, shapeText(row.shape).size());
  }
  for (const ParameterRow &row : parameters.rows) {
    text += padLeft(bytesText(row.bytes), 11) + "  " + padRight(letterOf(row.way), 3) +
            padRight(shortName(row.state, 20), states + 2) + padRight(shapeText(row.shape), shapes + 2) +
            shortName(row.name, 60);
    for (const std::string &alias : row.aliases)
      text += ", also " + shortName(alias, 60);
    text += "\n";
  }
  return text;
}

} // namespace cleave::view
