// The roots of one program, and what became of them: a root can be merged into another, as part of it.
//
// A value has a Place, (root, offset). The operands of a concat are made in roots of their own; when the concat is met,
// these are merged into its root, so that they are produced in place. Likewise a value that is written to a state, or
// returned.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_ROOTTABLE_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_ROOTTABLE_H

#include "compiler/Planning/Draft/Draft.h"
#include "dialects/Plan/IR/Plan.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace cleave::plan {

struct Place {
  unsigned root = 0;
  uint64_t offset = 0;
  Share share = {}; // the rank's part of what begins at `offset`
};

struct Root {
  RegionKind kind;
  uint64_t bytes;
  std::optional<uint64_t> fixed; // the offset in the region, when it is decided; else the root is fresh
  std::optional<Place> mergedInto;
  std::vector<unsigned> merged; // into this one
  // The first and the last step that uses it, or what was merged into it.
  size_t firstStep = std::numeric_limits<size_t>::max(), lastStep = 0;
  bool isCut = false;  // a place in it is a share
  bool isHost = false; // in host memory: only copies use it, and nothing is merged with it
  int64_t frames = 0;  // of a slot, the frames of its region; 0: no slot
};

class RootTable {
public:
  unsigned add(RegionKind kind, uint64_t bytes, std::optional<uint64_t> fixed = std::nullopt, bool isHost = false) {
    Root root{kind, bytes, fixed};
    root.isHost = isHost;
    roots.push_back(std::move(root));
    return roots.size() - 1;
  }

  Place resolve(Place place) const {
    while (roots[place.root].mergedInto) {
      const Place &whole = *roots[place.root].mergedInto;
      place.offset += whole.offset;
      place.root = whole.root;
      if (whole.share)
        place.share = whole.share; // see canMerge
    }
    return place;
  }
  bool isHost(Place place) const { return roots[resolve(place).root].isHost; }
  // Fresh: on the device, and nobody has said yet where it lies.
  bool isFresh(Place place) const {
    const Root &root = roots[resolve(place).root];
    return !root.fixed && !root.isHost;
  }
  // The place is a fresh root from its first byte to its last.
  bool isFreshWhole(Place place, uint64_t bytes) const {
    Place at = resolve(place);
    return isFresh(at) && !at.share && at.offset == 0 && roots[at.root].bytes == bytes;
  }
  // A share of a share has no address: the wire format knows one group a buffer.
  bool canMerge(Place part, Place whole) const {
    return !isHost(whole) && (!resolve(whole).share || !roots[resolve(part).root].isCut);
  }
  void merge(Place part, Place whole) {
    unsigned root = resolve(part).root;
    Place target = resolve(whole);
    roots[target.root].isCut |= roots[root].isCut;
    roots[root].mergedInto = target;
    roots[target.root].merged.push_back(root);
    if (roots[root].firstStep <= roots[root].lastStep) {
      noteStep(target.root, roots[root].firstStep);
      noteStep(target.root, roots[root].lastStep);
    }
  }
  // A step uses the root.
  void noteStep(unsigned root, size_t step) {
    root = resolve({root, 0, {}}).root;
    roots[root].firstStep = std::min(roots[root].firstStep, step);
    roots[root].lastStep = std::max(roots[root].lastStep, step);
  }
  // Whether a step uses `root` at or after the first use of `since`.
  bool isUsedSince(unsigned root, unsigned since) const {
    const Root &used = roots[root], &other = roots[since];
    return used.firstStep <= used.lastStep && other.firstStep <= used.lastStep;
  }
  // The rank's share of what begins at `whole`; none where that is a share already.
  std::optional<Place> cut(Place whole, Share share) {
    Place at = resolve(whole);
    if (at.share)
      return std::nullopt;
    roots[at.root].isCut = true;
    at.share = share;
    return at;
  }

  Root &operator[](unsigned root) { return roots[root]; }
  const Root &operator[](unsigned root) const { return roots[root]; }
  size_t size() const { return roots.size(); }

private:
  std::vector<Root> roots;
};

} // namespace cleave::plan

#endif
