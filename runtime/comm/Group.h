// Groups of ranks by formula. A mesh numbers ranks row-major, the last axis fastest; the group of a rank over some axes
// is the ranks that differ from it on those axes only, ordered by their coordinates there, first axis slowest.
//
//   mesh 2 x 3 (dp, tp), rank 4 = (1, 1):   over {tp}: 3 4 5, index 1     over {dp}: 1 4, index 1
#ifndef CLEAVE_RUNTIME_COMM_GROUP_H
#define CLEAVE_RUNTIME_COMM_GROUP_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave::rt {

// Members of one group and this rank's place among them.
struct Group {
  std::vector<int> members;
  int index = 0;
  int size() const { return static_cast<int>(members.size()); }
};

// Which groups there are, of all ranks: along these axes, and of each axis the coordinates that members have (none: all).
struct GroupShape {
  std::vector<uint32_t> axes;
  std::vector<std::vector<uint32_t>> only;
  bool operator<(const GroupShape &o) const { return axes != o.axes ? axes < o.axes : only < o.only; }
};

// With `only`, of each axis the coordinates that members have; none: all.
Group meshGroup(const std::vector<uint32_t> &mesh, const std::vector<uint32_t> &axes, int rank,
                const std::vector<std::vector<uint32_t>> &only = {});

} // namespace cleave::rt

#endif
