// Mutations of the tables that instructions refer to: kernels, groups, parameter groups, kinds of ranks, the header.
#include "test/compiler/Planning/mutation/Mutator.h"

#include "runtime/plan/KernelFacts.h"

#include <algorithm>

namespace cleave::mutation {

static void seal(fb::KernelT &kernel) {
  if (kernel.kind == fb::KernelKind::generated)
    kernel.facts = rt::KernelFacts::of(kernel).hash();
}

static bool changeKernel(Subject &subject, const std::string &what,
                         const std::function<bool(const fb::KernelT &)> &fits,
                         const std::function<void(fb::KernelT &)> &change) {
  std::vector<size_t> found;
  for (size_t i = 0; i < subject.plan.kernels.size(); ++i)
    if (fits(*subject.plan.kernels[i]))
      found.push_back(i);
  if (found.empty())
    return false;
  size_t index = subject.dice.of(found);
  subject.change = "kernel " + std::to_string(index) + " '" + subject.plan.kernels[index]->name + "': " + what;
  change(*subject.plan.kernels[index]);
  if (subject.dice.below(4) != 0) // mostly the plan agrees with itself, and only the artefact shows the change
    seal(*subject.plan.kernels[index]);
  return true;
}

static bool isGenerated(const fb::KernelT &k) { return k.kind == fb::KernelKind::generated; }
static bool hasOperands(const fb::KernelT &k) { return isGenerated(k) && !k.operands.empty(); }
static bool hasParams(const fb::KernelT &k) { return !k.params.empty(); }

// Two different entries of the kernel table for which `areAlike` returns true.
static std::optional<std::pair<size_t, size_t>>
twoAlike(Subject &subject, const std::function<bool(const fb::KernelT &, const fb::KernelT &)> &areAlike) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t a = 0; a < subject.plan.kernels.size(); ++a)
    for (size_t b = a + 1; b < subject.plan.kernels.size(); ++b)
      if (areAlike(*subject.plan.kernels[a], *subject.plan.kernels[b]))
        pairs.emplace_back(a, b);
  if (pairs.empty())
    return std::nullopt;
  return subject.dice.of(pairs);
}

static std::vector<MutationKind> kernelKinds() {
  auto extent = [](Subject &s) {
    uint64_t how = s.dice.below(4);
    return changeKernel(s, "another extent", isGenerated, [=](fb::KernelT &k) {
      uint64_t choices[] = {k.extent + 1, k.extent * 2, k.extent / 2, 0};
      k.extent = choices[how];
    });
  };
  // The launches of the kernel get buffers of as many bytes.
  auto bytes = [](Subject &s) {
    size_t operand = 0;
    uint64_t now = 0;
    std::string name;
    bool applies = changeKernel(s, "an operand of other bytes", hasOperands, [&](fb::KernelT &k) {
      operand = s.dice.below(k.operands.size());
      fb::Operand &o = k.operands[operand];
      now = s.dice.coin() ? o.bytes() / 2 : o.bytes() + 4;
      o = fb::Operand(now, o.over(), o.access(), o.dtype());
      name = k.name;
    });
    for (const Site &site : s.sites([](const fb::InstructionT &i) { return !i.fields.empty(); }))
      if (const int64_t *kernel = fieldOf(*site, "kernel");
          kernel && s.plan.kernels[static_cast<size_t>(*kernel)]->name == name && operand < site->buffers.size()) {
        fb::Buffer &b = site->buffers[operand];
        b = fb::Buffer(b.offset(), now, b.region(), b.access(), b.share_of(), b.frame(), b.stride());
      }
    return applies;
  };
  auto access = [](Subject &s) {
    return changeKernel(s, "an operand's access", hasOperands, [&](fb::KernelT &k) {
      fb::Operand &o = s.dice.of(k.operands);
      o = fb::Operand(o.bytes(), o.over(), static_cast<fb::Access>(s.dice.below(3)), o.dtype());
    });
  };
  auto over = [](Subject &s) {
    return changeKernel(s, "an operand works in place or not", hasOperands, [&](fb::KernelT &k) {
      fb::Operand &o = s.dice.of(k.operands);
      o = fb::Operand(o.bytes(), o.over() ? 0 : static_cast<uint16_t>(1 + s.dice.below(k.operands.size())), o.access(),
                      o.dtype());
    });
  };
  auto depends = [](Subject &s) {
    return changeKernel(s, "depends", isGenerated, [&](fb::KernelT &k) {
      if (k.depends.empty())
        k.depends.assign(
            static_cast<size_t>(std::count_if(k.operands.begin(), k.operands.end(),
                                              [](const fb::Operand &o) { return o.access() != fb::Access::read; })),
            0);
      else
        s.dice.of(k.depends) = s.dice.coin() ? 0 : s.dice.below(64);
    });
  };
  auto code = [](Subject &s) {
    return changeKernel(s, "the code of another body", isGenerated,
                        [&](fb::KernelT &k) { k.code += 1 + s.dice.below(8); });
  };
  auto params = [](Subject &s) {
    return changeKernel(s, "a parameter", hasParams, [&](fb::KernelT &k) {
      int64_t &param = s.dice.of(k.params);
      param = param == 0 || param == 1 ? 1 - param : s.dice.coin() ? param + 1 : param - 1;
    });
  };
  auto swappedParams = [](Subject &s) {
    return changeKernel(s, "two parameters exchanged", hasParams,
                        [&](fb::KernelT &k) { std::swap(s.dice.of(k.params), s.dice.of(k.params)); });
  };
  auto entries = [](Subject &s) {
    auto pair = twoAlike(s, haveSameOperands);
    if (!pair)
      return false;
    s.change = "kernels " + std::to_string(pair->first) + " and " + std::to_string(pair->second) + " exchanged";
    std::swap(s.plan.kernels[pair->first], s.plan.kernels[pair->second]);
    return true;
  };
  auto name = [](Subject &s) {
    auto pair =
        twoAlike(s, [](const fb::KernelT &a, const fb::KernelT &b) { return isGenerated(a) && isGenerated(b); });
    if (!pair)
      return false;
    s.change = "kernels " + std::to_string(pair->first) + " and " + std::to_string(pair->second) + " exchange names";
    std::swap(s.plan.kernels[pair->first]->name, s.plan.kernels[pair->second]->name);
    seal(*s.plan.kernels[pair->first]);
    seal(*s.plan.kernels[pair->second]);
    return true;
  };
  return {{"kernel extent", extent},         {"kernel operand bytes", bytes},
          {"kernel operand access", access}, {"kernel operand over", over},
          {"kernel depends", depends},       {"kernel code", code},
          {"kernel params", params},         {"kernel params swapped", swappedParams},
          {"kernel entries", entries},       {"kernel name", name}};
}

static bool changeGroupAxes(Subject &subject) {
  if (subject.plan.groups.empty() || subject.plan.axes.empty())
    return false;
  size_t index = subject.dice.below(subject.plan.groups.size());
  std::vector<uint32_t> &axes = subject.plan.groups[index]->axes;
  subject.change = "group " + std::to_string(index) + ": other axes";
  auto axis = static_cast<uint32_t>(subject.dice.below(subject.plan.axes.size()));
  switch (subject.dice.below(3)) {
  case 0:
    axes = {axis};
    break;
  case 1:
    std::reverse(axes.begin(), axes.end());
    break;
  default:
    if (auto found = std::find(axes.begin(), axes.end(), axis); found != axes.end())
      axes.erase(found);
    else
      axes.push_back(axis);
  }
  return true;
}

// Changes the coordinates at which a group has members.
static bool changeGroupPlaces(Subject &subject) {
  if (subject.plan.groups.empty())
    return false;
  fb::GroupT &group = *subject.dice.of(subject.plan.groups);
  if (group.axes.empty())
    return false;
  uint32_t axis = subject.dice.of(group.axes);
  subject.change = "a group over axis " + std::to_string(axis) + ": other members";
  auto found = std::find_if(group.only.begin(), group.only.end(), [=](auto &places) { return places->axis == axis; });
  if (found == group.only.end()) {
    group.only.push_back(std::make_unique<fb::AxisPlacesT>());
    group.only.back()->axis = axis;
    for (uint32_t i = 0; i + 1 < subject.plan.axes[axis]->size; ++i)
      group.only.back()->coordinates.push_back(i);
  } else if (subject.dice.coin()) {
    group.only.erase(found);
  } else {
    subject.dice.of((*found)->coordinates) += 1;
  }
  return true;
}

static bool changeEvent(Subject &subject, bool frames) {
  if (subject.plan.events.empty())
    return false;
  size_t index = subject.dice.below(subject.plan.events.size());
  fb::Event &event = subject.plan.events[index];
  subject.change = "event " + std::to_string(index) + ": another " + (frames ? "number of frames" : "counter");
  if (frames)
    event = {event.frames() + (subject.dice.coin() ? 1u : ~0u), event.counter()};
  else
    event = {event.frames(), static_cast<fb::Counter>(subject.dice.below(3))};
  return true;
}

static bool changeParamGroup(Subject &subject) {
  if (subject.plan.param_groups.empty())
    return false;
  fb::ParamGroupT &group = *subject.dice.of(subject.plan.param_groups);
  subject.change = "parameter group '" + group.name + "': another rate or decay";
  (subject.dice.coin() ? group.lr_scale : group.weight_decay) += 0.5;
  return true;
}

// Two kinds of ranks exchange their coordinates.
static bool changeRanges(Subject &subject) {
  if (subject.root.kinds.empty() || subject.root.where.empty() || subject.root.kinds[0]->where.empty())
    return false;
  subject.change = "kinds of ranks exchange their ranges";
  std::swap(subject.root.where, subject.root.kinds[0]->where);
  return true;
}

static std::vector<fb::PlanT *> kindsOf(fb::PlanT &root) {
  std::vector<fb::PlanT *> kinds = {&root};
  for (auto &kind : root.kinds)
    kinds.push_back(kind.get());
  return kinds;
}

static bool changeHeader(Subject &subject) {
  uint64_t which = subject.dice.below(3);
  const char *names[] = {"batch", "micro_batches", "data_axes"};
  subject.change = std::string("the plan's ") + names[which];
  for (fb::PlanT *kind : kindsOf(subject.root)) {
    if (which == 0)
      kind->batch += 1;
    else if (which == 1)
      kind->micro_batches = kind->micro_batches > 1 ? kind->micro_batches - 1 : 2;
    else if (kind->data_axes.empty() && !kind->axes.empty())
      kind->data_axes = {0};
    else
      kind->data_axes.clear();
  }
  return true;
}

static bool changeAxes(Subject &subject) {
  if (subject.plan.axes.empty())
    return false;
  size_t axis = subject.dice.below(subject.plan.axes.size());
  bool swaps = subject.plan.axes.size() > 1 && subject.dice.coin();
  subject.change = "axis " + std::to_string(axis) + (swaps ? ": exchanged with the next" : ": another size");
  for (fb::PlanT *kind : kindsOf(subject.root))
    if (swaps)
      std::swap(kind->axes[axis], kind->axes[(axis + 1) % kind->axes.size()]);
    else
      kind->axes[axis]->size = kind->axes[axis]->size == 2 ? 1 : 2;
  return true;
}

static bool changePrograms(Subject &subject) {
  if (subject.plan.programs.empty())
    return false;
  fb::ProgramT &program = *subject.dice.of(subject.plan.programs);
  subject.change = "program '" + program.name + "': entry or not";
  std::string name = program.name;
  for (fb::PlanT *kind : kindsOf(subject.root))
    for (auto &same : kind->programs)
      if (same->name == name)
        same->entry = !same->entry;
  return true;
}

std::vector<MutationKind> tableKinds() {
  std::vector<MutationKind> kinds = kernelKinds();
  kinds.push_back({"group axes", changeGroupAxes});
  kinds.push_back({"group members", changeGroupPlaces});
  kinds.push_back({"event frames", [](Subject &s) { return changeEvent(s, true); }});
  kinds.push_back({"event counter", [](Subject &s) { return changeEvent(s, false); }});
  kinds.push_back({"parameter group", changeParamGroup});
  kinds.push_back({"ranges of kinds", changeRanges});
  kinds.push_back({"header", changeHeader});
  kinds.push_back({"axes", changeAxes});
  kinds.push_back({"program entry", changePrograms});
  return kinds;
}

} // namespace cleave::mutation
