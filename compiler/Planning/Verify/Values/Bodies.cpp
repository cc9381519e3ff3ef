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

// Each call makes another history, also if nothing has changed before it: states hold something else after it.
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

// The symbol says only that this is the n-th message of the channel. So it is the same on the model's side and on the
// plan's side, in whichever order a body receives on other channels.
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

// Messages have an order within a channel, and none between channels: a receive waits for its own channel alone. `met_`
// is not added. It is compared between kinds (AlikeKinds.h), and not with the model.
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

// Before each turn of the loop, the bytes before `begin` are joined. For example, [0, 8) has dp, and [4, 12) gets fsdp.
// The ranges are then [0, 4) with dp, [4, 8) with both, and [8, 12) with fsdp. A range only gets more axes, so the runs
// of BodyRuns.cpp reach an end.
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
