// Groups of ranks, computed from the mesh. A mesh numbers ranks row-major: the last axis is the fastest. The group of a
// rank over some axes has all ranks that differ from it only on these axes. They are ordered by their coordinates
// there, the first axis slowest.
//
//   mesh 2 x 3 (dp, tp), rank 4 = (1, 1):   over {tp}: 3 4 5, index 1     over {dp}: 1 4, index 1
#ifndef CLEAVE_RUNTIME_COMM_GROUP_H
#define CLEAVE_RUNTIME_COMM_GROUP_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave::rt {

// The members of a group, and this rank's index among them.
struct Group {
  std::vector<int> members;
  int index = 0;
  int size() const { return static_cast<int>(members.size()); }
};

// A set of groups, of all ranks: the axes that they lie along, and for each axis the coordinates that members have
// (empty: all).
struct GroupShape {
  std::vector<uint32_t> axes;
  std::vector<std::vector<uint32_t>> only;
  bool operator<(const GroupShape &o) const { return axes != o.axes ? axes < o.axes : only < o.only; }
};

// Returns the group of `rank`. `only` has for each axis the coordinates of members (empty: all).
Group meshGroup(const std::vector<uint32_t> &mesh, const std::vector<uint32_t> &axes, int rank,
                const std::vector<std::vector<uint32_t>> &only = {});

} // namespace cleave::rt

#endif
