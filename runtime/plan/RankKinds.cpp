#include "runtime/plan/RankKinds.h"

#include "runtime/plan/Checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace cleave::rt {

std::vector<const fb::Plan *> kindsOf(const fb::Plan &plan) {
  std::vector<const fb::Plan *> kinds = {&plan};
  for (size_t i = 0; i < lengthOf(plan.kinds()); ++i)
    kinds.push_back(plan.kinds()->Get(i));
  return kinds;
}

std::vector<KindState> statesOf(const fb::Plan &plan) {
  std::vector<KindState> states;
  std::unordered_set<std::string_view> seen;
  for (const fb::Plan *kind : kindsOf(plan))
    for (size_t i = 0; i < lengthOf(kind->states()); ++i)
      if (const fb::State *state = kind->states()->Get(i); seen.insert(textOf(state->name())).second)
        states.push_back({kind, i, state});
  return states;
}

bool isEverywhere(const fb::Plan &plan, const fb::State &state) {
  for (const fb::Plan *kind : kindsOf(plan)) {
    bool isThere = false;
    for (size_t i = 0; i < lengthOf(kind->states()) && !isThere; ++i)
      isThere = textOf(kind->states()->Get(i)->name()) == textOf(state.name());
    if (!isThere)
      return false;
  }
  return true;
}

unsigned firstRankOf(const fb::Plan &kind) {
  unsigned rank = 0;
  for (uint32_t axis = 0; axis < lengthOf(kind.axes()); ++axis)
    rank = rank * kind.axes()->Get(axis)->size() + rangeOf(kind, axis).begin;
  return rank;
}

AxisRange rangeOf(const fb::Plan &kind, uint32_t axis) {
  for (size_t i = 0; i < lengthOf(kind.where()); ++i)
    if (const fb::AxisRange &range = *kind.where()->Get(i); range.axis() == axis)
      return {range.begin(), range.end()};
  return {0, kind.axes()->Get(axis)->size()};
}

static bool contains(const fb::Plan &kind, const std::vector<unsigned> &coordinates) {
  for (uint32_t axis = 0; axis < coordinates.size(); ++axis)
    if (!rangeOf(kind, axis).contains(coordinates[axis]))
      return false;
  return true;
}

const fb::Plan &kindAt(const fb::Plan &plan, const std::vector<unsigned> &coordinates) {
  for (size_t i = 0; i < lengthOf(plan.kinds()); ++i)
    if (contains(*plan.kinds()->Get(i), coordinates))
      return *plan.kinds()->Get(i);
  return plan;
}

size_t firstKernel(const fb::Plan &plan, const fb::Plan &kind) {
  size_t first = 0;
  for (const fb::Plan *other : kindsOf(plan)) {
    if (other == &kind)
      break;
    first += lengthOf(other->kernels());
  }
  return first;
}

namespace {

using Ports = flatbuffers::Vector<flatbuffers::Offset<fb::Port>>;

// True if `port` is one of `ports`, and the port at its index in `others` has memory. checkKinds() has proved that
// programs of one name declare the same ports in one order.
bool hasSamePort(const Ports *ports, const Ports *others, const fb::Port &port) {
  for (uint32_t i = 0; i < lengthOf(ports); ++i)
    if (ports->Get(i) == &port)
      return !others->Get(i)->absent();
  return false;
}

const fb::Program *sameEntry(const fb::Plan &kind, const fb::Program &program) {
  for (const fb::Program *other : *kind.programs())
    if (other->entry() && textOf(other->name()) == textOf(program.name()))
      return other;
  return nullptr;
}

} // namespace

bool hasPort(const fb::Plan &plan, const fb::Plan &kind, const fb::Port &port) {
  for (const fb::Plan *owner : kindsOf(plan))
    for (uint32_t i = 0; i < lengthOf(owner->programs()); ++i) {
      const fb::Program &program = *owner->programs()->Get(i);
      const fb::Program *same = program.entry() ? sameEntry(kind, program) : nullptr;
      if (same && (hasSamePort(program.inputs(), same->inputs(), port) ||
                   hasSamePort(program.outputs(), same->outputs(), port)))
        return true;
    }
  return false;
}

uint64_t ranksOfKind(const fb::Plan &kind) {
  uint64_t ranks = 1;
  for (uint32_t axis = 0; axis < lengthOf(kind.axes()); ++axis)
    ranks *= rangeOf(kind, axis).end - rangeOf(kind, axis).begin;
  return ranks;
}

std::string describeKind(const fb::Plan &kind) {
  std::string text(textOf(kind.kind()));
  for (size_t i = 0; i < lengthOf(kind.where()); ++i) {
    const fb::AxisRange &range = *kind.where()->Get(i);
    text += (text.empty() ? "" : ", ") + kind.axes()->Get(range.axis())->name()->str() + " " +
            std::to_string(range.begin());
    if (range.end() - range.begin() > 1)
      text += " to " + std::to_string(range.end() - 1);
  }
  return text;
}

std::optional<bool> isRoot(const fb::Plan &kind, const fb::Group &group, int64_t root) {
  bool isOnly = true;
  auto rest = static_cast<uint64_t>(root);
  for (size_t i = lengthOf(group.axes()); i-- > 0;) {
    uint32_t axis = group.axes()->Get(i);
    const fb::AxisPlaces *places = placesOn(group, axis);
    uint32_t size = places ? places->coordinates()->size() : kind.axes()->Get(axis)->size();
    AxisRange range = rangeOf(kind, axis);
    auto index = static_cast<uint32_t>(rest % size);
    if (!range.contains(places ? places->coordinates()->Get(index) : index))
      return false;
    isOnly &= range.end - range.begin == 1;
    rest /= size;
  }
  return isOnly ? std::optional(true) : std::nullopt;
}

namespace {

Status checkWhere(const fb::Plan &kind) {
  std::vector<char> seen(lengthOf(kind.axes()));
  for (size_t i = 0; i < lengthOf(kind.where()); ++i) {
    const fb::AxisRange &range = *kind.where()->Get(i);
    if (range.axis() >= seen.size() || seen[range.axis()]++ || range.begin() >= range.end() ||
        range.end() > kind.axes()->Get(range.axis())->size())
      return badPlan("kind '" + std::string(textOf(kind.kind())) + "' has a range that is empty or on no axis");
  }
  return Status::ok();
}

bool meet(const fb::Plan &a, const fb::Plan &b) {
  for (uint32_t axis = 0; axis < lengthOf(a.axes()); ++axis) {
    AxisRange left = rangeOf(a, axis), right = rangeOf(b, axis);
    if (left.end <= right.begin || right.end <= left.begin)
      return false;
  }
  return true;
}

template <typename Vector> bool equal(const Vector *a, const Vector *b) {
  if (lengthOf(a) != lengthOf(b))
    return false;
  for (size_t i = 0; i < lengthOf(a); ++i)
    if (a->Get(i) != b->Get(i))
      return false;
  return true;
}

bool haveSameHeader(const fb::Plan &a, const fb::Plan &b) {
  if (lengthOf(a.axes()) != lengthOf(b.axes()))
    return false;
  for (uint32_t axis = 0; axis < lengthOf(a.axes()); ++axis)
    if (a.axes()->Get(axis)->size() != b.axes()->Get(axis)->size() ||
        textOf(a.axes()->Get(axis)->name()) != textOf(b.axes()->Get(axis)->name()))
      return false;
  return textOf(a.target()) == textOf(b.target()) && a.threads() == b.threads() &&
         a.micro_batches() == b.micro_batches() && a.batch() == b.batch() && equal(a.data_axes(), b.data_axes());
}

bool haveSameAliases(const fb::Segment &a, const fb::Segment &b) {
  bool areSame = lengthOf(a.aliases()) == lengthOf(b.aliases());
  for (uint32_t i = 0; areSame && i < lengthOf(a.aliases()); ++i)
    areSame = textOf(a.aliases()->Get(i)) == textOf(b.aliases()->Get(i));
  return areSame;
}

// True if the states of both kinds begin with the same values under the same names.
bool haveSameSegments(const fb::State &a, const fb::State &b) {
  if (lengthOf(a.segments()) != lengthOf(b.segments()))
    return false;
  for (size_t i = 0; i < lengthOf(a.segments()); ++i) {
    const fb::Segment &left = *a.segments()->Get(i), &right = *b.segments()->Get(i);
    if (textOf(left.name()) != textOf(right.name()) || !equal(left.shape(), right.shape()) ||
        left.offset() != right.offset() || left.group() != right.group() || left.init() != right.init() ||
        left.value() != right.value() || left.axis() != right.axis() ||
        textOf(left.source()) != textOf(right.source()) || !haveSameAliases(left, right))
      return false;
  }
  return true;
}

bool areSame(const fb::State &a, const fb::State &b) {
  return a.role() == b.role() && textOf(a.slot()) == textOf(b.slot()) && a.dtype() == b.dtype() &&
         a.elements() == b.elements() && equal(a.split_axes(), b.split_axes()) &&
         equal(a.partial_axes(), b.partial_axes()) && haveSameSegments(a, b);
}

// Checks that all ranks of a kind are members of each group that the kind names.
Status checkMembers(const fb::Plan &kind) {
  for (uint32_t i = 0; i < lengthOf(kind.groups()); ++i)
    for (uint32_t o = 0; o < lengthOf(kind.groups()->Get(i)->only()); ++o) {
      const fb::AxisPlaces &places = *kind.groups()->Get(i)->only()->Get(o);
      AxisRange range = rangeOf(kind, places.axis());
      uint32_t inside = 0;
      for (uint32_t coordinate : *places.coordinates())
        inside += range.contains(coordinate);
      if (inside != range.end - range.begin)
        return badPlan("kind '" + std::string(textOf(kind.kind())) + "' names group " + std::to_string(i) +
                       ", of which not all of its ranks are members");
    }
  return Status::ok();
}

template <typename Ports> bool haveSamePorts(const Ports *a, const Ports *b) {
  if (lengthOf(a) != lengthOf(b))
    return false;
  for (size_t i = 0; i < lengthOf(a); ++i) {
    const fb::Port &left = *a->Get(i), &right = *b->Get(i);
    if (textOf(left.name()) != textOf(right.name()) || left.dtype() != right.dtype() ||
        !equal(left.shape(), right.shape()) || left.batch_dim() != right.batch_dim() ||
        !equal(left.split_axes(), right.split_axes()))
      return false;
  }
  return true;
}

template <typename Table>
std::unordered_map<std::string_view, const Table *>
byName(const flatbuffers::Vector<flatbuffers::Offset<Table>> *entries) {
  std::unordered_map<std::string_view, const Table *> result;
  for (size_t i = 0; i < lengthOf(entries); ++i)
    result.emplace(textOf(entries->Get(i)->name()), entries->Get(i));
  return result;
}

// Checks that each entry program of the kind `of` is one of the kind `in` too, with equal ports.
Status checkEntries(const fb::Plan &of, const fb::Plan &in) {
  auto programs = byName(in.programs());
  for (size_t i = 0; i < lengthOf(of.programs()); ++i) {
    const fb::Program &program = *of.programs()->Get(i);
    if (!program.entry())
      continue;
    auto found = programs.find(textOf(program.name()));
    const fb::Program *same = found == programs.end() ? nullptr : found->second;
    if (!same || !same->entry() || !haveSamePorts(program.inputs(), same->inputs()) ||
        !haveSamePorts(program.outputs(), same->outputs()))
      return badPlan("kind '" + std::string(textOf(in.kind())) + "' has no program '" + program.name()->str() +
                     "' with the ports of kind '" + std::string(textOf(of.kind())) + "'");
  }
  return Status::ok();
}

// The states by name, each with the first kind that has it.
using KnownStates = std::unordered_map<std::string_view, KindState>;

// Checks that `other` agrees with the first kind, and that states of one name are equal in all kinds.
Status checkAlike(const fb::Plan &first, const fb::Plan &other, const KnownStates &states) {
  std::string where = "kind '" + std::string(textOf(other.kind())) + "'";
  if (!haveSameHeader(first, other))
    return badPlan(where + " is for another target, mesh or batch than the first kind");
  for (size_t i = 0; i < lengthOf(other.states()); ++i) {
    const fb::State &state = *other.states()->Get(i);
    auto same = states.find(textOf(state.name()));
    if (same != states.end() && !areSame(*same->second.state, state))
      return badPlan(where + " has another state '" + state.name()->str() + "' than kind '" +
                     std::string(textOf(same->second.kind->kind())) + "'");
  }
  CLEAVE_TRY(checkEntries(first, other));
  return checkEntries(other, first);
}

// The most ranges that are compared with coordinates for one plan. A file from elsewhere may have kinds that cut 20 axes,
// and ports on any of them, which would take minutes. Kinds of compiled plans cut one or two axes: they need some thousand
// comparisons.
constexpr uint64_t kMaxComparisons = uint64_t{1} << 26;

// Whether the kinds together have every coordinate on these axes. Kinds are boxes, so it is enough to look at the first
// coordinates of their ranges, on each axis. Nothing if that takes more comparisons than are `left`.
std::optional<bool> coverAxes(const fb::Plan &plan, const std::vector<const fb::Plan *> &kinds,
                              const flatbuffers::Vector<uint32_t> *axes, uint64_t *left) {
  std::vector<std::vector<AxisRange>> ranges; // for each axis, those of the kinds
  std::vector<std::vector<uint32_t>> places;  // for each axis
  uint64_t cells = 1;                         // at most as many as ranks
  for (uint32_t i = 0; i < lengthOf(axes); ++i) {
    std::set<uint32_t> begins = {0};
    ranges.emplace_back();
    for (const fb::Plan *kind : kinds) {
      ranges.back().push_back(rangeOf(*kind, axes->Get(i)));
      for (uint32_t place : {ranges.back().back().begin, ranges.back().back().end})
        if (place < plan.axes()->Get(axes->Get(i))->size())
          begins.insert(place);
    }
    places.emplace_back(begins.begin(), begins.end());
    cells *= begins.size();
  }
  uint64_t comparisons = cells * kinds.size() * lengthOf(axes);
  if (comparisons > *left)
    return std::nullopt;
  *left -= comparisons;
  std::vector<uint32_t> cell(places.size()); // an index into `places` for each axis
  auto isIn = [&](size_t kind) {
    bool contains = true;
    for (size_t i = 0; contains && i < cell.size(); ++i)
      contains = ranges[i][kind].contains(places[i][cell[i]]);
    return contains;
  };
  for (uint64_t number = 0; number < cells; ++number) {
    uint64_t rest = number;
    for (size_t i = 0; i < cell.size(); rest /= places[i++].size())
      cell[i] = static_cast<uint32_t>(rest % places[i].size());
    size_t kind = 0;
    while (kind < kinds.size() && !isIn(kind))
      ++kind;
    if (kind == kinds.size())
      return false;
  }
  return true;
}

// Checks that each port has memory on a rank of some kind, for each part of it: an output has no samples of ranks that
// lack it, and an input's samples would not be used there.
Status checkPresence(const fb::Plan &plan) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  std::map<std::vector<const fb::Plan *>, std::optional<bool>> known; // by the kinds: whether they have all samples
  uint64_t left = kMaxComparisons;
  for (uint32_t p = 0; p < lengthOf(plan.programs()); ++p) {
    const fb::Program &program = *plan.programs()->Get(p);
    for (bool isInput : {true, false}) {
      const Ports *ports = isInput ? program.inputs() : program.outputs();
      for (uint32_t i = 0; program.entry() && i < lengthOf(ports); ++i) {
        std::vector<const fb::Plan *> owners;
        for (const fb::Plan *kind : kinds) {
          const fb::Program &same = *sameEntry(*kind, program); // it has the same ports in the same order
          if (!(isInput ? same.inputs() : same.outputs())->Get(i)->absent())
            owners.push_back(kind);
        }
        std::string port = "port '" + ports->Get(i)->name()->str() + "' of program '" + program.name()->str() + "'";
        if (owners.empty())
          return badPlan("no kind of ranks has " + port);
        if (lengthOf(ports->Get(i)->split_axes()) == 0)
          continue;
        auto [covers, isNew] = known.try_emplace(owners); // split axes are the data axes (checkDeclared)
        if (isNew)
          covers->second = coverAxes(plan, owners, ports->Get(i)->split_axes(), &left);
        if (!covers->second)
          return badPlan("its " + std::to_string(kinds.size()) + " kinds of ranks cut " +
                         std::to_string(lengthOf(ports->Get(i)->split_axes())) +
                         " data axes at too many places to find out whether they have all samples of " + port);
        if (!*covers->second)
          return badPlan("the kinds of ranks that have " + port +
                         " do not have all of its samples; expected one at each place on the data axes");
      }
    }
  }
  return Status::ok();
}

} // namespace

Status checkKinds(const fb::Plan &plan) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  if (kinds.size() > 4096) // bounds the comparison of each with each
    return badPlan("it has " + std::to_string(kinds.size()) + " kinds of ranks");
  uint64_t ranks = 0;
  std::unordered_set<std::string_view> names;
  KnownStates states;
  for (size_t i = 0; i < kinds.size(); ++i) {
    CLEAVE_TRY(checkWhere(*kinds[i]));
    CLEAVE_TRY(checkMembers(*kinds[i]));
    if (i > 0 && lengthOf(kinds[i]->kinds()) != 0)
      return badPlan("a kind of ranks holds kinds itself");
    if (!names.insert(textOf(kinds[i]->kind())).second)
      return badPlan("two kinds of ranks have ranks or a name in common");
    if (i > 0)
      CLEAVE_TRY(checkAlike(*kinds[0], *kinds[i], states));
    for (size_t before = 0; before < i; ++before)
      if (meet(*kinds[before], *kinds[i]))
        return badPlan("two kinds of ranks have ranks or a name in common");
    for (size_t s = 0; s < lengthOf(kinds[i]->states()); ++s)
      states.emplace(textOf(kinds[i]->states()->Get(s)->name()), KindState{kinds[i], s, kinds[i]->states()->Get(s)});
    ranks += ranksOfKind(*kinds[i]);
  }
  if (ranks != meshSize(plan))
    return badPlan("its kinds make up " + std::to_string(ranks) + " of " + std::to_string(meshSize(plan)) + " ranks");
  return checkPresence(plan);
}

} // namespace cleave::rt
