// Mutations of values that are kept between steps or passed in and out: states, their segments, regions, ports.
#include "test/compiler/Planning/mutation/Mutator.h"

#include <algorithm>

namespace cleave::mutation {

static fb::StateT *pickState(Subject &subject, const std::function<bool(const fb::StateT &)> &fits) {
  std::vector<fb::StateT *> found;
  for (auto &state : subject.plan.states)
    if (fits(*state))
      found.push_back(state.get());
  return found.empty() ? nullptr : subject.dice.of(found);
}

static bool anyState(const fb::StateT &) { return true; }

// Changes the state in all kinds of ranks, because they must agree on it.
static bool changeState(Subject &subject, const std::string &what, const std::function<bool(const fb::StateT &)> &fits,
                        const std::function<void(fb::StateT &)> &change) {
  fb::StateT *state = pickState(subject, fits);
  if (!state)
    return false;
  subject.change = "state '" + state->name + "': " + what;
  for (fb::StateT *same : subject.statesNamed(state->name))
    change(*same);
  return true;
}

static fb::DType otherType(fb::DType type, Dice &dice) {
  using fb::DType;
  switch (type) {
  case DType::f32:
    return DType::i32;
  case DType::i32:
    return DType::f32;
  case DType::f64:
    return DType::i64;
  case DType::i64:
    return DType::f64;
  case DType::f16:
    return dice.coin() ? DType::bf16 : DType::i16;
  case DType::bf16:
    return dice.coin() ? DType::f16 : DType::i16;
  default:
    return DType::u8;
  }
}

static bool changeStateType(Subject &subject) {
  return changeState(subject, "another dtype of its width", anyState,
                     [&](fb::StateT &s) { s.dtype = otherType(s.dtype, subject.dice); });
}

// With `keepsBytes`, each rank has as many bytes as before: a whole state has fewer elements than a split one.
static bool changeSplit(Subject &subject) {
  bool keepsBytes = subject.dice.coin();
  auto axis = static_cast<uint32_t>(subject.dice.below(subject.plan.axes.size()));
  if (subject.plan.axes.empty())
    return false;
  uint64_t size = subject.plan.axes[axis]->size;
  return changeState(subject, "split over axis " + std::to_string(axis) + " or not any more", anyState,
                     [&](fb::StateT &s) {
                       auto found = std::find(s.split_axes.begin(), s.split_axes.end(), axis);
                       if (found != s.split_axes.end()) {
                         s.split_axes.erase(found);
                         s.elements = keepsBytes ? s.elements / size : s.elements;
                       } else {
                         s.split_axes.push_back(axis);
                         s.elements = keepsBytes ? s.elements * size : s.elements;
                       }
                     });
}

static bool changePartial(Subject &subject) {
  if (subject.plan.axes.empty())
    return false;
  auto axis = static_cast<uint32_t>(subject.dice.below(subject.plan.axes.size()));
  return changeState(subject, "an unreduced sum over axis " + std::to_string(axis) + " or not any more", anyState,
                     [&](fb::StateT &s) {
                       auto found = std::find(s.partial_axes.begin(), s.partial_axes.end(), axis);
                       if (found != s.partial_axes.end())
                         s.partial_axes.erase(found);
                       else
                         s.partial_axes.push_back(axis);
                     });
}

static bool changeElements(Subject &subject) {
  bool more = subject.dice.coin();
  return changeState(subject, more ? "more elements" : "fewer elements", anyState, [&](fb::StateT &s) {
    s.elements = more ? s.elements + 16 : s.elements - std::min<uint64_t>(s.elements, 16);
  });
}

static bool changeRole(Subject &subject) {
  auto role = static_cast<fb::Role>(subject.dice.below(7));
  return changeState(subject, std::string("role ") + fb::EnumNameRole(role), anyState,
                     [=](fb::StateT &s) { s.role = role; });
}

static bool changeSlot(Subject &subject) {
  return changeState(
      subject, "another slot", [](const fb::StateT &s) { return !s.slot.empty(); },
      [](fb::StateT &s) { s.slot = s.slot == "exp_avg" ? "exp_avg_sq" : "exp_avg"; });
}

// Changes the address in one kind of ranks.
static bool moveState(Subject &subject) {
  fb::StateT *state = pickState(subject, anyState);
  if (!state)
    return false;
  uint64_t by = subject.dice.coin() ? 64 : 4;
  subject.change = "state '" + state->name + "': moved by " + std::to_string(by);
  state->offset = subject.dice.coin() && state->offset >= by ? state->offset - by : state->offset + by;
  return true;
}

static bool swapStates(Subject &subject) {
  fb::StateT *a = pickState(subject, anyState);
  if (!a)
    return false;
  fb::StateT *b = pickState(subject, [&](const fb::StateT &s) {
    return &s != a && s.elements == a->elements && s.dtype == a->dtype && s.split_axes == a->split_axes;
  });
  if (!b)
    return false;
  subject.change = "states '" + a->name + "' and '" + b->name + "' exchange their places";
  std::swap(a->offset, b->offset);
  std::swap(a->region, b->region);
  return true;
}

static bool dropState(Subject &subject) {
  if (subject.plan.states.empty())
    return false;
  size_t index = subject.dice.below(subject.plan.states.size());
  std::string name = subject.plan.states[index]->name;
  subject.change = "state '" + name + "': dropped";
  auto drop = [&](fb::PlanT &plan) {
    plan.states.erase(std::remove_if(plan.states.begin(), plan.states.end(), [&](auto &s) { return s->name == name; }),
                      plan.states.end());
  };
  drop(subject.root);
  for (auto &kind : subject.root.kinds)
    drop(*kind);
  return true;
}

// Changes a segment, given by its state and its index there, in all kinds of ranks.
static bool changeSegment(Subject &subject, const std::string &what,
                          const std::function<bool(const fb::StateT &, size_t)> &fits,
                          const std::function<void(fb::StateT &, size_t)> &change) {
  std::vector<std::pair<fb::StateT *, size_t>> found;
  for (auto &state : subject.plan.states)
    for (size_t i = 0; i < state->segments.size(); ++i)
      if (fits(*state, i))
        found.emplace_back(state.get(), i);
  if (found.empty())
    return false;
  auto [state, index] = subject.dice.of(found);
  subject.change = "segment '" + state->segments[index]->name + "' of state '" + state->name + "': " + what;
  for (fb::StateT *same : subject.statesNamed(state->name))
    change(*same, index);
  return true;
}

static bool anySegment(const fb::StateT &, size_t) { return true; }
static bool hasNext(const fb::StateT &s, size_t i) { return i + 1 < s.segments.size(); }

static std::vector<MutationKind> segmentKinds() {
  auto moved = [](Subject &s) {
    bool back = s.dice.coin();
    uint64_t by = s.dice.coin() ? 1 : 32;
    return changeSegment(s, "moved", anySegment, [=](fb::StateT &state, size_t i) {
      uint64_t &offset = state.segments[i]->offset;
      offset = back && offset >= by ? offset - by : offset + by;
    });
  };
  auto overlapping = [](Subject &s) {
    return changeSegment(s, "lies where the next one does", hasNext, [](fb::StateT &state, size_t i) {
      state.segments[i + 1]->offset = state.segments[i]->offset;
    });
  };
  auto renamed = [](Subject &s) {
    return changeSegment(s, "exchanges its name with the next", hasNext, [](fb::StateT &state, size_t i) {
      std::swap(state.segments[i]->name, state.segments[i + 1]->name);
    });
  };
  auto reshaped = [](Subject &s) {
    return changeSegment(
        s, "transposed", [](const fb::StateT &state, size_t i) { return state.segments[i]->shape.size() > 1; },
        [](fb::StateT &state, size_t i) {
          auto &shape = state.segments[i]->shape;
          std::reverse(shape.begin(), shape.end());
        });
  };
  auto cut = [](Subject &s) {
    return changeSegment(
        s, "one row less", [](const fb::StateT &state, size_t i) { return !state.segments[i]->shape.empty(); },
        [](fb::StateT &state, size_t i) { --state.segments[i]->shape[0]; });
  };
  auto init = [](Subject &s) {
    auto kind = static_cast<fb::InitKind>(s.dice.below(4));
    return changeSegment(s, std::string("begins as ") + fb::EnumNameInitKind(kind), anySegment,
                         [=](fb::StateT &state, size_t i) { state.segments[i]->init = kind; });
  };
  auto value = [](Subject &s) {
    return changeSegment(s, "another value", anySegment,
                         [](fb::StateT &state, size_t i) { state.segments[i]->value += 1; });
  };
  auto source = [](Subject &s) {
    return changeSegment(s, "begins as the next one's weights", hasNext, [](fb::StateT &state, size_t i) {
      state.segments[i]->source = state.segments[i + 1]->source;
    });
  };
  auto group = [](Subject &s) {
    auto number = static_cast<uint32_t>(s.dice.below(s.plan.param_groups.size() + 1));
    return changeSegment(s, "in parameter group " + std::to_string(number), anySegment,
                         [=](fb::StateT &state, size_t i) { state.segments[i]->group = number; });
  };
  auto dropped = [](Subject &s) {
    return changeSegment(s, "dropped", anySegment, [](fb::StateT &state, size_t i) {
      state.segments.erase(state.segments.begin() + static_cast<std::ptrdiff_t>(i));
    });
  };
  auto axis = [](Subject &s) {
    return changeSegment(
        s, "the coordinate on another axis",
        [](const fb::StateT &state, size_t i) { return state.segments[i]->init == fb::InitKind::coordinate; },
        [](fb::StateT &state, size_t i) { state.segments[i]->axis ^= 1; });
  };
  return {{"segment moved", moved},     {"segment overlaps", overlapping},
          {"segment renamed", renamed}, {"segment reshaped", reshaped},
          {"segment cut", cut},         {"segment init", init},
          {"segment value", value},     {"segment source", source},
          {"segment group", group},     {"segment dropped", dropped},
          {"segment axis", axis}};
}

static fb::RegionT *pickRegion(Subject &subject) {
  return subject.plan.regions.empty() ? nullptr : subject.dice.of(subject.plan.regions).get();
}

static bool changeRegion(Subject &subject, const std::string &what, const std::function<void(fb::RegionT &)> &change) {
  fb::RegionT *region = pickRegion(subject);
  if (!region)
    return false;
  subject.change = "region '" + region->name + "': " + what;
  change(*region);
  return true;
}

static std::vector<MutationKind> regionKinds() {
  auto frames = [](Subject &s) {
    bool more = s.dice.coin();
    return changeRegion(s, more ? "one frame more" : "one frame less",
                        [=](fb::RegionT &r) { r.frames = more ? r.frames + 1 : std::max(r.frames, 2u) - 1; });
  };
  auto counter = [](Subject &s) {
    auto other = static_cast<fb::Counter>(s.dice.below(3));
    return changeRegion(s, std::string("follows ") + fb::EnumNameCounter(other),
                        [=](fb::RegionT &r) { r.counter = other; });
  };
  auto bytes = [](Subject &s) {
    return changeRegion(s, "64 bytes less", [](fb::RegionT &r) { r.bytes -= std::min<uint64_t>(r.bytes, 64); });
  };
  auto kind = [](Subject &s) {
    auto other = static_cast<fb::RegionKind>(s.dice.below(8));
    return changeRegion(s, std::string("of kind ") + fb::EnumNameRegionKind(other),
                        [=](fb::RegionT &r) { r.kind = other; });
  };
  auto space = [](Subject &s) {
    return changeRegion(s, "in the other memory", [](fb::RegionT &r) {
      r.space = r.space == fb::Space::device ? fb::Space::host : fb::Space::device;
    });
  };
  return {{"region frames", frames},
          {"region counter", counter},
          {"region bytes", bytes},
          {"region kind", kind},
          {"region space", space}};
}

// Changes a port (an input or an output) of an entry program, in one kind or in all kinds of ranks.
static bool changePort(Subject &subject, const std::string &what, bool everywhere,
                       const std::function<void(std::vector<std::unique_ptr<fb::PortT>> &, size_t)> &change) {
  std::vector<std::tuple<std::string, bool, size_t>> found;
  for (auto &program : subject.plan.programs)
    for (bool isInput : {true, false})
      for (size_t i = 0; i < (isInput ? program->inputs : program->outputs).size(); ++i)
        found.emplace_back(program->name, isInput, i);
  if (found.empty())
    return false;
  auto [name, isInput, index] = subject.dice.of(found);
  subject.change = std::string(isInput ? "input " : "output ") + std::to_string(index) + " of " + name + ": " + what;
  auto apply = [&, name = name, isInput = isInput, index = index](fb::PlanT &plan) {
    for (auto &program : plan.programs)
      if (auto &ports = isInput ? program->inputs : program->outputs; program->name == name && index < ports.size())
        change(ports, index);
  };
  if (!everywhere) {
    apply(subject.plan);
    return true;
  }
  apply(subject.root);
  for (auto &kind : subject.root.kinds)
    apply(*kind);
  return true;
}

static std::vector<MutationKind> portKinds() {
  using Ports = std::vector<std::unique_ptr<fb::PortT>>;
  auto moved = [](Subject &s) {
    bool back = s.dice.coin();
    return changePort(s, "moved by 64", false, [=](Ports &ports, size_t i) {
      ports[i]->offset = back && ports[i]->offset >= 64 ? ports[i]->offset - 64 : ports[i]->offset + 64;
    });
  };
  auto swapped = [](Subject &s) {
    return changePort(s, "exchanges its place with the next", false, [](Ports &ports, size_t i) {
      std::swap(ports[i]->offset, ports[(i + 1) % ports.size()]->offset);
    });
  };
  auto renamed = [](Subject &s) {
    return changePort(s, "exchanges its name with the next", true,
                      [](Ports &ports, size_t i) { std::swap(ports[i]->name, ports[(i + 1) % ports.size()]->name); });
  };
  auto type = [](Subject &s) {
    return changePort(s, "another dtype of its width", true,
                      [&](Ports &ports, size_t i) { ports[i]->dtype = otherType(ports[i]->dtype, s.dice); });
  };
  auto shape = [](Subject &s) {
    return changePort(s, "transposed", true,
                      [](Ports &ports, size_t i) { std::reverse(ports[i]->shape.begin(), ports[i]->shape.end()); });
  };
  auto whole = [](Subject &s) {
    return changePort(s, "split or whole", true, [](Ports &ports, size_t i) {
      if (ports[i]->split_axes.empty())
        ports[i]->split_axes = {0};
      else
        ports[i]->split_axes.clear();
    });
  };
  auto batch = [](Subject &s) {
    return changePort(s, "another batch dimension", true, [](Ports &ports, size_t i) {
      ports[i]->batch_dim = ports[i]->batch_dim < 0 ? 0 : ports[i]->batch_dim - 1;
    });
  };
  auto absent = [](Subject &s) {
    return changePort(s, "with bytes or without", false,
                      [](Ports &ports, size_t i) { ports[i]->absent = !ports[i]->absent; });
  };
  auto dropped = [](Subject &s) {
    return changePort(s, "dropped", true,
                      [](Ports &ports, size_t i) { ports.erase(ports.begin() + static_cast<std::ptrdiff_t>(i)); });
  };
  return {{"port moved", moved},     {"ports swapped", swapped}, {"port renamed", renamed},
          {"port dtype", type},      {"port shape", shape},      {"port split", whole},
          {"port batch_dim", batch}, {"port dropped", dropped},  {"port absent", absent}};
}

std::vector<MutationKind> stateKinds() {
  std::vector<MutationKind> kinds = {
      {"state dtype", changeStateType},   {"state split_axes", changeSplit}, {"state partial_axes", changePartial},
      {"state elements", changeElements}, {"state role", changeRole},        {"state slot", changeSlot},
      {"state moved", moveState},         {"states swapped", swapStates},    {"state dropped", dropState}};
  for (auto family : {segmentKinds, regionKinds, portKinds})
    for (MutationKind &kind : family())
      kinds.push_back(std::move(kind));
  return kinds;
}

} // namespace cleave::mutation
