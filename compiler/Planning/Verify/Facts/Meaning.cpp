#include "compiler/Planning/Verify/Facts/Meaning.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

namespace cleave::plan {

using rt::Opcode;

ValueNumber meaningOfCalls(std::string_view calls) { return Expression("calls").add(calls).number(); }

ValueNumber checkOf(const ValueNumber &kernel, const Content &checked) {
  return Expression("check").add(kernel).add(checked.number()).number();
}

void addChecks(const Checks &checks, Meaning &meaning) {
  if (!checks.empty())
    meaning["checks"] = Expression("checks").addAll(checks).number();
}

std::string callsWith(const std::string &calls, const ValueNumber &history) {
  return history == ValueNumber() ? calls : calls + std::to_string(history.high) + " " + std::to_string(history.low);
}

std::string textOfCall(std::string_view program, int64_t times, int64_t firstFrame, int64_t skip) {
  // The length tells where the name ends: a name may contain anything.
  return std::to_string(program.size()) + " " + std::string(program) + " " + std::to_string(times) + " " +
         std::to_string(firstFrame) + " " + std::to_string(skip) + ";";
}

std::string textOfTooLong(std::string_view program) {
  return std::string(program) + " runs more than " + std::to_string(kMaxInstructions) +
         " instructions, those of all micro-batches counted; what is longer is not checked: use fewer micro-batches "
         "or chunks";
}

void AxesFacts::add(uint64_t axis, std::string_view name, uint64_t size) {
  text += std::to_string(name.size()) + ":" + std::string(name) + ":" + std::to_string(size) + ",";
  names += (names.empty() ? "" : ",") + std::string(name);
  axes |= AxisMask{1} << axis;
  ranks *= size;
}

void AxesFacts::addCoordinates(uint64_t axis, std::string_view name, std::vector<uint64_t> coordinates) {
  text += std::to_string(name.size()) + ":" + std::string(name) + ":";
  names += (names.empty() ? "" : ",") + std::string(name);
  for (uint64_t coordinate : coordinates)
    text += std::to_string(coordinate) + ";";
  text += ",";
  axes |= AxisMask{1} << axis;
  ranks *= coordinates.size();
  only[axis] = std::move(coordinates);
}

static uint64_t bitsOf(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

Content StateFacts::content() const {
  Expression expression("state");
  expression.add(name).add(slot).add(role).add(dtype).add(elements).add(split.text).add(partial.text);
  for (const Segment &segment : segments)
    expression.add(segment.name)
        .add(segment.source)
        .addAll(segment.shape)
        .add(segment.offset)
        .add(segment.group)
        .add(segment.init)
        .add(bitsOf(segment.value))
        .add(segment.axis);
  return Content::of(expression.number(), bytes, split.axes | partial.axes | coordinates);
}

Content PortFacts::content(uint64_t frame) const {
  Expression expression("input");
  expression.add(name).add(dtype).addAll(shape).add(static_cast<uint64_t>(batchDim)).add(split.text).add(frame);
  return Content::of(expression.number(), bytes, split.axes);
}

ValueNumber PortFacts::meaningOf(const Content &content) const {
  Expression expression("output");
  expression.add(dtype).addAll(shape).add(static_cast<uint64_t>(batchDim)).add(split.text);
  return expression.add(content.number()).number();
}

ValueNumber KernelComputation::number() const {
  Expression expression("kernel");
  expression.add(kind).add(name).add(code).addAll(params).addAll(depends);
  for (const Operand &operand : operands)
    expression.add(operand.bytes).add(uint64_t{operand.reads} * 2 + operand.writes).add(operand.over);
  return expression.number();
}

Content resultOf(const ValueNumber &kernel, const std::vector<uint64_t> &depends, size_t result, uint64_t bytes,
                 const std::vector<Content> &read) {
  Expression expression("result");
  expression.add(kernel).add(uint64_t{result}).add(bytes);
  AxisMask varies = 0;
  for (size_t i = 0; i < read.size(); ++i)
    if (i >= 64 || result >= depends.size() || (depends[result] >> i & 1)) {
      expression.add(uint64_t{i}).add(read[i].number());
      varies |= read[i].varies();
    }
  return Content::of(expression.number(), bytes, varies);
}

std::optional<Content> resultOf(const CollectiveFacts &facts, const std::vector<Contribution> &all, size_t who,
                                AxisMask between) {
  AxisMask varies = between & ~facts.group.axes;
  uint64_t bytes = 0;
  Expression expression(rt::opcodeInfo(static_cast<unsigned>(facts.opcode))->mnemonic);
  expression.add(facts.group.text);
  for (int64_t field : {facts.dtype, facts.reduction, facts.algorithm, facts.count, facts.root})
    expression.add(static_cast<uint64_t>(field));
  const Contribution *root = nullptr;
  for (const Contribution &one : all) {
    expression.add(one.where);
    root = one.isRoot ? &one : root;
    if (!one.data)
      continue;
    expression.add(one.data->number());
    varies |= one.data->varies();
    bytes = std::max(bytes, one.data->bytes());
  }
  AxisMask along = facts.group.axes;
  switch (facts.opcode) {
  case Opcode::ReduceScatter:
    return Content::of(expression.number(), bytes / facts.group.ranks, varies | along);
  case Opcode::AllGather:
    return Content::of(expression.number(), bytes * facts.group.ranks, varies & ~along);
  case Opcode::Reduce:
    if (!all[who].isRoot)
      return std::nullopt;
    break;
  case Opcode::Broadcast: // a value that is equal on all ranks stays the same when it is sent
    if (!root || !root->data)
      return std::nullopt;
    if ((root->data->varies() & along) == 0 && (between & ~along) == 0)
      return root->data;
    break;
  default:
    break;
  }
  return Content::of(expression.number(), bytes, varies & ~along);
}

bool KindBox::meets(const KindBox &other, AxisMask axes) const {
  for (size_t axis = 0; axis < ranges.size(); ++axis)
    if (!(axes >> axis & 1) &&
        (ranges[axis].second <= other.ranges[axis].first || other.ranges[axis].second <= ranges[axis].first))
      return false;
  return true;
}

std::string KindBox::textOn(AxisMask axes) const {
  std::string text;
  for (size_t axis = 0; axis < ranges.size(); ++axis)
    if (axes >> axis & 1)
      text += std::to_string(axis) + ":" + std::to_string(ranges[axis].first) + "-" +
              std::to_string(ranges[axis].second) + ";";
  return text;
}

bool KindBox::isMember(const AxesFacts &group) const {
  return std::all_of(group.only.begin(), group.only.end(), [&](const auto &places) {
    auto [first, last] = ranges[places.first];
    return std::any_of(places.second.begin(), places.second.end(),
                       [first = first, last = last](uint64_t place) { return first <= place && place < last; });
  });
}

bool KindBox::reaches(const KindBox &other, AxisMask axis, uint64_t offset, uint64_t size) const {
  if (!meets(other, axis))
    return false;
  for (size_t i = 0; i < ranges.size(); ++i)
    if (axis >> i & 1) { // once around the axis adds `size`
      uint64_t begin = ranges[i].first + offset, end = ranges[i].second + offset;
      auto [first, last] = other.ranges[i];
      return (begin < last && first < end) || (begin < last + size && first + size < end);
    }
  return false;
}

Content received(const TransferFacts &facts, const std::vector<Contribution> &sent, AxisMask between) {
  Expression expression("received");
  expression.add(facts.axis.text).add(static_cast<uint64_t>(facts.offset));
  AxisMask varies = 0;
  bool areAlike = true;
  for (const Contribution &one : sent) {
    expression.add(one.where).add(one.data->number());
    varies |= one.data->varies();
    areAlike = areAlike && one.data->number() == sent.front().data->number();
  }
  if (areAlike && (varies & facts.axis.axes) == 0)
    return *sent.front().data;
  return Content::of(expression.number(), sent.front().data->bytes(),
                     areAlike ? varies : varies | facts.axis.axes | between);
}

namespace {

// Advances all runs; those that meet in a collective, directly or through others, go on together.
//
// Between two steps, every run has stopped (`stops_`) or has ended (null). A step continues the runs of one collective
// at which all of its kinds have stopped, or one run at a transfer. If no step is possible, the runs never meet.
// For example, a worker and a parameter server, in groups over dp:
//
//            worker                     server
//   reduce   contributes g; nothing     contributes g'; gets reduce(g, g')
//            is left there              runs its update up to the broadcast: u = update(reduce(g, g'))
//   bcast    contributes nothing;       contributes u
//            gets u
//
// Then the worker's parameter has the server's expression, and the two can be compared directly.
class RendezvousScheduler {
public:
  RendezvousScheduler(const std::vector<MeaningRun *> &runs, const std::vector<KindBox> &boxes)
      : runs_(runs), boxes_(boxes) {
    for (MeaningRun *run : runs)
      stops_.push_back(run->advance());
  }

  bool run() {
    while (std::any_of(stops_.begin(), stops_.end(), [](auto *stop) { return stop != nullptr; }))
      if (!step())
        return false;
    return true;
  }

private:
  bool meets(size_t a, size_t b) const { return boxes_[a].meets(boxes_[b], stops_[a]->facts.group); }

  // Returns all runs that take part in the collective at which `first` has stopped; empty if one of them has stopped
  // elsewhere.
  std::vector<size_t> partnersOf(size_t first) const {
    std::vector<size_t> found{first};
    for (size_t next = 0; next < found.size(); ++next)
      for (size_t other = 0; other < runs_.size(); ++other) {
        if (!meets(found[next], other) || std::find(found.begin(), found.end(), other) != found.end())
          continue;
        const MeaningRun::Stop *stop = stops_[other];
        if (!stop || stop->facts.opcode != stops_[first]->facts.opcode ||
            stop->facts.group.text != stops_[first]->facts.group.text)
          return {};
        found.push_back(other);
      }
    std::sort(found.begin(), found.end());
    return found;
  }

  bool step() {
    for (size_t first = 0; first < runs_.size(); ++first) {
      if (!stops_[first])
        continue;
      if (rt::isTransfer(stops_[first]->facts.opcode)) {
        if (transfer(first))
          return true;
        continue;
      }
      std::vector<size_t> partners = partnersOf(first);
      if (partners.empty())
        continue;
      std::vector<std::optional<Content>> results;
      for (size_t kind : partners)
        results.push_back(resultFor(kind, partners));
      for (size_t i = 0; i < partners.size(); ++i) {
        runs_[partners[i]]->deliver(results[i]);
        stops_[partners[i]] = runs_[partners[i]]->advance();
      }
      return true;
    }
    return false;
  }

  // The messages of one kind on one channel, and how many of them each receiving kind has taken.
  struct Queue {
    std::vector<Contribution> sent;
    std::map<size_t, size_t> taken;
  };
  Queue &queueOf(size_t sender, const TransferFacts &facts) {
    return queues_[{sender, facts.axis.axes, facts.offset, facts.channel}];
  }

  // Continues a kind at a send, or at a receive for which everything has been sent. Returns false if it must wait.
  bool transfer(size_t kind) {
    const TransferFacts &facts = stops_[kind]->transfer;
    std::optional<Content> result;
    if (stops_[kind]->facts.opcode == Opcode::Send) {
      Contribution mine = stops_[kind]->mine;
      mine.where = boxes_[kind].textOn(facts.axis.axes);
      queueOf(kind, facts).sent.push_back(std::move(mine));
    } else {
      std::vector<Contribution> sent;
      std::vector<Queue *> queues;
      AxisMask between = 0;
      std::optional<size_t> firstSender;
      for (size_t sender = 0; sender < runs_.size(); ++sender)
        if (boxes_[sender].reaches(boxes_[kind], facts.axis.axes, static_cast<uint64_t>(facts.offset),
                                   facts.axis.ranks)) {
          Queue &queue = queueOf(sender, facts);
          if (queue.sent.size() == queue.taken[kind])
            return false;
          sent.push_back(queue.sent[queue.taken[kind]]);
          queues.push_back(&queue);
          firstSender = firstSender.value_or(sender);
          between |= boxes_[sender].differsFrom(boxes_[*firstSender]);
        }
      if (sent.empty())
        return false;
      for (Queue *queue : queues)
        ++queue->taken[kind];
      result = received(facts, sent, between);
    }
    runs_[kind]->deliver(result);
    stops_[kind] = runs_[kind]->advance();
    return true;
  }

  std::optional<Content> resultFor(size_t kind, const std::vector<size_t> &partners) const {
    std::vector<size_t> met;
    std::copy_if(partners.begin(), partners.end(), std::back_inserter(met),
                 [&](size_t other) { return meets(kind, other); });
    std::sort(met.begin(), met.end(),
              [&](size_t a, size_t b) { return stops_[a]->mine.where < stops_[b]->mine.where; });
    std::vector<Contribution> all;
    AxisMask between = 0;
    for (size_t other : met) {
      all.push_back(stops_[other]->mine);
      between |= boxes_[kind].differsFrom(boxes_[other]);
    }
    return resultOf(stops_[kind]->facts, all, std::find(met.begin(), met.end(), kind) - met.begin(), between);
  }

  const std::vector<MeaningRun *> &runs_;
  const std::vector<KindBox> &boxes_;
  std::vector<const MeaningRun::Stop *> stops_;
  std::map<std::tuple<size_t, AxisMask, int64_t, int64_t>, Queue> queues_; // sender, axis, offset, channel
};

} // namespace

bool runToEnd(const std::vector<MeaningRun *> &runs, const std::vector<KindBox> &boxes) {
  return RendezvousScheduler(runs, boxes).run();
}

} // namespace cleave::plan
