// What lies where, as a number for the expression that it was computed by: the third of Execution's abstract runs.
//
// Programs of different kinds of ranks are different lists at different addresses, but what they compute alike they
// compute by the same kernels of the same states and inputs, and what they exchange is the n-th collective of a group
// on all ranks that take part. So a state that both have is equal on both when its expression is.
#include "compiler/Planning/CollectiveMeaning.h"
#include "compiler/Planning/Execution.h"

#include "runtime/base/Hash.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/Kinds.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

namespace {

class Expression {
public:
  Expression &add(std::string_view text) {
    hash_ = fnv1a("|", fnv1a(text, hash_));
    return *this;
  }
  Expression &add(uint64_t number) { return add(std::to_string(number)); }
  uint64_t get() const { return hash_; }

private:
  uint64_t hash_ = kFnvOffset;
};

} // namespace

uint64_t Execution::contentOf(const fb::Buffer &buffer, uint64_t frame) {
  uint64_t content = history(buffer.region(), frame).contentOf(buffer.offset(), bufferEnd(plan_, buffer));
  if (buffer.share_of() == 0)
    return content;
  return Expression()
      .add("share")
      .add(axesText(plan_, plan_.groups()->Get(buffer.share_of() - 1u)->axes()))
      .add(buffer.stride())
      .add(content)
      .get();
}

// Whether all ranks of a group are of this kind: its box is whole along the group's axes.
static bool isWithinKind(const fb::Plan &kind, const fb::Group &group) {
  for (size_t i = 0; i < lengthOf(group.axes()); ++i) {
    AxisRange range = rangeOf(kind, group.axes()->Get(i));
    if (range.begin != 0 || range.end != kind.axes()->Get(group.axes()->Get(i))->size())
      return false;
  }
  return true;
}

// Within a kind, a collective is an expression of its data like others. Between kinds it leaves the same number on all
// that meet in it, which have their coordinates on all other axes in common, but for those that a reduce gives nothing.
uint64_t Execution::contentOfCollective(const InstructionView &view, uint64_t frame) {
  const fb::Group &group = *plan_.groups()->Get(static_cast<unsigned>(view["group"]));
  std::string axes = axesText(plan_, group.axes());
  Expression expression;
  expression.add(view.info().mnemonic).add(axes);
  if (isWithinKind(plan_, group)) {
    for (std::string_view field : view.info().fields)
      if (field != "group") // its number in the kind's table
        expression.add(std::to_string(view[field]));
    return expression.add(contentOf(view.buffer(0), frame)).get();
  }
  expression.add(met_[axes]++);
  for (uint32_t axis = 0; axis < lengthOf(plan_.axes()); ++axis) {
    bool isAlong = std::find(group.axes()->begin(), group.axes()->end(), axis) != group.axes()->end();
    AxisRange range = rangeOf(plan_, axis);
    if (!isAlong)
      expression.add(range.begin).add(range.end);
  }
  if (meaningOf(view.opcode())->leaves == DataPart::OfRoot && !isRootHere(view))
    expression.add("lost by").add(textOf(plan_.kind()));
  return expression.get();
}

// Whether it is known behind the instruction what the buffer holds: what it writes, and what the root of a broadcast
// has, which is what the others have then.
static bool settles(const InstructionView &view, size_t buffer) {
  const CollectiveMeaning *meaning = meaningOf(view.opcode());
  return writes(view.buffer(buffer).access()) || (meaning && meaning->equalizes && buffer == 0);
}

// Of each buffer that the instruction settles, in order.
std::vector<uint64_t> Execution::contentsOfResults(const InstructionView &view, uint64_t frame) {
  std::vector<uint64_t> contents;
  if (isCollective(view.opcode())) {
    uint64_t content = contentOfCollective(view, frame);
    for (size_t i = 0; i < view.bufferCount(); ++i)
      if (settles(view, i))
        contents.push_back(i == 0 ? content : Expression().add("staging").add(content).get());
    return contents;
  }
  if (view.opcode() == Opcode::Copy)
    return {contentOf(view.buffer(1), frame)};
  Expression what;
  what.add(view.info().mnemonic);
  const flatbuffers::Vector<uint64_t> *depends = nullptr;
  if (view.opcode() == Opcode::Launch) {
    const fb::Kernel &kernel = *plan_.kernels()->Get(static_cast<unsigned>(view["kernel"]));
    depends = kernel.depends();
    what.add(textOf(kernel.name()));
    for (size_t i = 0; i < lengthOf(kernel.params()); ++i)
      what.add(std::to_string(kernel.params()->Get(i)));
  } else {
    for (std::string_view field : view.info().fields)
      what.add(std::to_string(view[field]));
  }
  std::vector<uint64_t> read;
  for (size_t i = 0; i < view.bufferCount(); ++i)
    if (reads(view.buffer(i).access()))
      read.push_back(contentOf(view.buffer(i), frame));
  for (size_t i = 0; i < view.bufferCount(); ++i) {
    if (!writes(view.buffer(i).access()))
      continue;
    uint64_t mask = contents.size() < lengthOf(depends) ? depends->Get(static_cast<unsigned>(contents.size())) : ~0ull;
    Expression result = what;
    result.add(contents.size()).add(view.buffer(i).bytes());
    for (size_t r = 0; r < read.size(); ++r)
      if (r >= 64 || (mask >> r & 1))
        result.add(r).add(read[r]);
    contents.push_back(result.get());
  }
  return contents;
}

void Execution::recordContents(const InstructionView &view, uint64_t frame, const std::vector<uint64_t> &contents) {
  size_t number = 0;
  for (size_t i = 0; i < view.bufferCount(); ++i) {
    const fb::Buffer &buffer = view.buffer(i);
    if (!settles(view, i))
      continue;
    uint64_t content = contents[number++], end = bufferEnd(plan_, buffer);
    if (buffer.bytes() == 0)
      continue;
    MemoryHistory &memory = history(buffer.region(), frame);
    if (buffer.share_of() != 0) // the other ranks' parts stay
      content = Expression().add("into").add(memory.contentOf(buffer.offset(), end)).add(content).get();
    memory.setContent(buffer.offset(), end, {content, buffer.offset()});
  }
}

std::map<std::string, uint64_t> Execution::getContents() {
  std::map<std::string, uint64_t> contents;
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    uint64_t end = state.offset() + stateShardBytes(plan_, state);
    if (lengthOf(state.partial_axes()) == 0 && end > state.offset())
      contents[state.name()->str()] = history(state.region(), 0).contentOf(state.offset(), end);
  }
  return contents;
}

} // namespace cleave::plan
