#include "compiler/Planning/Verify/Values/Bodies.h"

#include "compiler/Planning/Verify/Facts/Ranges.h"

#include <algorithm>

namespace cleave::plan {

ValueNumber crossBodySymbol(std::string_view region, uint64_t place) {
  return Expression("region").add(region).add(place).number();
}

ValueNumber afterCalls(const ValueNumber &place, const KindBox &firstAlike, const ValueNumber &history) {
  return Expression("after").add(history).add(firstAlike.textOn(~AxisMask{0})).add(place).number();
}

ValueNumber lostSymbol(const ValueNumber &state) { return Expression("lost").add(state).number(); }

ValueNumber historyAfter(const ValueNumber &history, const std::map<std::string, ValueNumber> &changed) {
  Expression expression("call");
  expression.add(history);
  for (const auto &[state, number] : changed)
    expression.add(state).add(number);
  return expression.number();
}

void Messages::send(const TransferFacts &facts, const Content &content) {
  sent_[TransferChannel::of(facts)].push_back(content.number());
}

Content Messages::take(const TransferFacts &facts, uint64_t bytes, AxisMask varies) {
  channels_.emplace(TransferChannel::of(facts), facts);
  Expression expression("arrives");
  expression.add(facts.axis.text).add(static_cast<uint64_t>(facts.offset)).add(static_cast<uint64_t>(facts.channel));
  return Content::of(expression.add(taken_[TransferChannel::of(facts)]++).number(), bytes, varies);
}

void Messages::meet(const CollectiveFacts &facts, const Content &mine) {
  Expression brought(rt::opcodeInfo(static_cast<unsigned>(facts.opcode))->mnemonic);
  for (int64_t field : {facts.dtype, facts.reduction, facts.algorithm, facts.count, facts.root})
    brought.add(static_cast<uint64_t>(field));
  Met &met = met_.emplace(facts.group.text, Met{facts.group, {}}).first->second;
  met.brought = Expression("met").add(met.brought).add(brought.number()).add(mine.number()).add(mine.varies()).number();
}

ValueNumber Messages::number() const {
  Expression expression("messages");
  auto add = [&](const TransferChannel &channel) {
    expression.add(channel.axis).add(channel.offset).add(static_cast<uint64_t>(channel.channel));
  };
  for (const auto &[channel, numbers] : sent_) {
    add(channel);
    expression.addAll(numbers);
  }
  expression.add("taken");
  for (const auto &[channel, count] : taken_) {
    add(channel);
    expression.add(count);
  }
  return expression.number();
}

void CrossBodyVariance::join(uint64_t begin, uint64_t end, AxisMask varies) {
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

AxisMask CrossBodyVariance::of(uint64_t begin, uint64_t end) const {
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
