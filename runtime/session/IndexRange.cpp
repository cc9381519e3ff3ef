#include "runtime/session/IndexRange.h"

#include "runtime/plan/PlanReader.h"
#include "runtime/plan/Properties.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cleave::rt {

IndexRange::IndexRange(const char *text, Kind kind, bool isOfCompiledLoss)
    : kind_(kind), isOfCompiledLoss_(isOfCompiledLoss) {
  char *next = nullptr;
  end_ = std::strtoll(text, &next, 10);
  first_ = kind == Kind::Indices ? -end_ : 0;
  while (*next == ',')
    others_.push_back(std::strtoll(next + 1, &next, 10));
}

std::string IndexRange::expected() const {
  std::string text = std::to_string(first_) + " to " + std::to_string(end_ - 1);
  for (int64_t other : others_)
    text += ", or " + std::to_string(other) + (kind_ == Kind::Labels ? " (not counted)" : "");
  return text;
}

// Data sets mark samples that do not count by a label below 0, or by 255.
std::string IndexRange::advice(int64_t value) const {
  if (kind_ != Kind::Labels || !isOfCompiledLoss_ || (value >= 0 && value != 255))
    return "";
  return "; if it marks samples that do not count, compile with --loss-ignore-index " + std::to_string(value);
}

template <typename T> Status IndexRange::checkAll(const fb::Port &port, Bytes bytes, uint64_t *element) const {
  for (size_t i = 0; i < bytes.size / sizeof(T); ++i) {
    T stored; // a caller's array may have any alignment
    std::memcpy(&stored, bytes.data + i * sizeof(T), sizeof(T));
    int64_t value = stored;
    if ((value >= first_ && value < end_) || std::find(others_.begin(), others_.end(), value) != others_.end())
      continue;
    *element = i;
    // Lengths (sequence_lens) and similar inputs have a range like labels, but no value for samples that are not
    // counted.
    const char *what = kind_ != Kind::Labels ? "index " : others_.empty() ? "value " : "label ";
    return invalidArgument("input '" + port.name()->str() + "' holds the " + what + std::to_string(value) +
                           "; expected " + expected() + advice(value));
  }
  return Status::ok();
}

Status IndexRange::check(const fb::Port &port, Bytes bytes, uint64_t *element) const {
  switch (port.dtype()) {
  case fb::DType::i64:
    return checkAll<int64_t>(port, bytes, element);
  case fb::DType::i32:
    return checkAll<int32_t>(port, bytes, element);
  case fb::DType::i16:
    return checkAll<int16_t>(port, bytes, element);
  case fb::DType::i8:
    return checkAll<int8_t>(port, bytes, element);
  case fb::DType::u8:
    return checkAll<uint8_t>(port, bytes, element);
  default:
    return Status::ok(); // the compiler notes ranges of integers only
  }
}

std::vector<IndexRange> IndexRange::ofInput(const fb::Plan &plan, const fb::Port &input) {
  std::vector<IndexRange> ranges;
  std::string loss = propertyOf(plan, kLossProperty);
  std::string kind = loss.substr(0, loss.find(' '));
  bool isCompiled = kind == "cross-entropy" || kind == "nll"; // else it is an output's name
  auto add = [&](Kind kind, const PropertyFamily &properties) {
    if (const flatbuffers::String *text = findProperty(plan, properties.of(textOf(input.name()))))
      ranges.push_back(IndexRange(text->c_str(), kind, isCompiled));
  };
  add(Kind::Indices, kIndicesProperties);
  add(Kind::Rows, kRowsProperties);
  add(Kind::Labels, kLabelsProperties);
  return ranges;
}

std::vector<std::vector<IndexRange>> IndexRange::ofInputs(const fb::Plan &plan, const fb::Program &program) {
  std::vector<std::vector<IndexRange>> ranges;
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i)
    ranges.push_back(ofInput(plan, *program.inputs()->Get(i)));
  return ranges;
}

} // namespace cleave::rt
