#include "runtime/train/LabelRange.h"

#include "runtime/plan/PlanReader.h"

#include <cstdlib>

namespace cleave::rt {
namespace {

LabelRange parseRange(const char *text) {
  char *end = nullptr;
  LabelRange range;
  range.classes = std::strtoll(text, &end, 10);
  if (*end == ',')
    range.ignored = std::strtoll(end + 1, nullptr, 10);
  return range;
}

template <typename T> Status checkLabels(const LabelRange &range, const fb::Port &port, Bytes bytes) {
  const T *labels = reinterpret_cast<const T *>(bytes.data);
  for (size_t i = 0; i < bytes.size / sizeof(T); ++i) {
    int64_t label = labels[i];
    if ((label >= 0 && label < range.classes) || (range.ignored && label == *range.ignored))
      continue;
    return invalidArgument("input '" + port.name()->str() + "' holds the label " + std::to_string(label) +
                           "; expected 0 to " + std::to_string(range.classes - 1) +
                           (range.ignored ? ", or " + std::to_string(*range.ignored) + " (not counted)" : ""));
  }
  return Status::ok();
}

} // namespace

Status LabelRange::check(const fb::Port &port, Bytes bytes) const {
  if (classes == 0)
    return Status::ok();
  if (port.dtype() == fb::DType::i64)
    return checkLabels<int64_t>(*this, port, bytes);
  return port.dtype() == fb::DType::i32 ? checkLabels<int32_t>(*this, port, bytes) : Status::ok();
}

std::vector<LabelRange> labelRanges(const fb::Plan &plan, const fb::Program &program) {
  std::vector<LabelRange> ranges(lengthOf(program.inputs()));
  for (size_t input = 0; input < ranges.size(); ++input)
    for (size_t i = 0; i < lengthOf(plan.properties()); ++i) {
      const fb::Property &property = *plan.properties()->Get(i);
      if (textOf(property.key()) == "labels." + program.inputs()->Get(input)->name()->str() && property.value())
        ranges[input] = parseRange(property.value()->c_str());
    }
  return ranges;
}

} // namespace cleave::rt
