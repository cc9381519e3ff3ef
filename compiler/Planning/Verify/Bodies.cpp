#include "compiler/Planning/Verify/Bodies.h"

#include "compiler/Planning/Verify/Ranges.h"

#include <algorithm>

namespace cleave::plan {

uint64_t roomSymbol(std::string_view region, uint64_t place) {
  return Expression("room").add(region).add(place).number();
}

uint64_t afterCalls(uint64_t place, const KindBox &firstAlike, uint64_t history) {
  return Expression("after").add(history).add(firstAlike.textOn(~AxisMask{0})).add(place).number();
}

uint64_t lostSymbol(uint64_t state) { return Expression("lost").add(state).number(); }

uint64_t historyAfter(uint64_t history, const std::map<std::string, uint64_t> &changed) {
  Expression expression("call");
  expression.add(history);
  for (const auto &[state, number] : changed)
    expression.add(state).add(number);
  return expression.number();
}

void Messages::send(const TransferFacts &facts, const Content &content) {
  sent_[laneOf(facts)].push_back(content.number());
}

Content Messages::take(const TransferFacts &facts, uint64_t bytes, AxisMask varies) {
  lanes_.emplace(laneOf(facts), facts);
  Expression expression("arrives");
  expression.add(facts.axis.text).add(static_cast<uint64_t>(facts.offset)).add(static_cast<uint64_t>(facts.channel));
  return Content::of(expression.add(taken_[laneOf(facts)]++).number(), bytes, varies);
}

void Messages::meet(const CollectiveFacts &facts, const Content &mine) {
  Expression brought(rt::opcodeInfo(static_cast<unsigned>(facts.opcode))->mnemonic);
  for (int64_t field : {facts.dtype, facts.reduction, facts.algorithm, facts.count, facts.root})
    brought.add(static_cast<uint64_t>(field));
  Met &met = met_.emplace(facts.group.text, Met{facts.group, 0}).first->second;
  met.brought = Expression("met").add(met.brought).add(brought.number()).add(mine.number()).add(mine.varies()).number();
}

uint64_t Messages::number() const {
  Expression expression("messages");
  auto add = [&](const Lane &lane) {
    expression.add(std::get<0>(lane)).add(static_cast<uint64_t>(std::get<1>(lane)));
    expression.add(static_cast<uint64_t>(std::get<2>(lane)));
  };
  for (const auto &[lane, numbers] : sent_) {
    add(lane);
    expression.addAll(numbers);
  }
  expression.add("taken");
  for (const auto &[lane, count] : taken_) {
    add(lane);
    expression.add(count);
  }
  return expression.number();
}

void RoomVaries::join(uint64_t begin, uint64_t end, AxisMask varies) {
  splitRange(ranges_, begin);
  splitRange(ranges_, end);
  while (begin < end) {
    auto range = ranges_.lower_bound(begin);
    uint64_t known = range == ranges_.end() ? end : std::min(range->first, end);
    if (begin < known) { // nothing is known of these bytes yet
      ranges_[begin] = {known, varies};
      begin = known;
      continue;
    }
    range->second.varies |= varies;
    begin = range->second.end;
  }
}

AxisMask RoomVaries::of(uint64_t begin, uint64_t end) const {
  AxisMask varies = 0;
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin())
    --range;
  for (; range != ranges_.end() && range->first < end; ++range)
    if (range->second.end > begin)
      varies |= range->second.varies;
  return varies;
}

} // namespace cleave::plan
