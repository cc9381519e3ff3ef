#include "runtime/comm/Group.h"

#include "runtime/plan/Mesh.h"

using std::size_t;

namespace cleave::rt {

static int rankOf(const std::vector<uint32_t> &mesh, const std::vector<unsigned> &coordinates) {
  unsigned rank = 0;
  for (size_t i = 0; i < mesh.size(); ++i)
    rank = rank * mesh[i] + coordinates[i];
  return static_cast<int>(rank);
}

Group meshGroup(const std::vector<uint32_t> &mesh, const std::vector<uint32_t> &axes, int rank) {
  Group group;
  unsigned size = 1;
  for (uint32_t axis : axes)
    size *= mesh[axis];
  std::vector<unsigned> coordinates = meshCoordinates(mesh, static_cast<unsigned>(rank));
  for (unsigned member = 0; member < size; ++member) {
    unsigned rest = member;
    for (size_t i = axes.size(); i-- > 0; rest /= mesh[axes[i]])
      coordinates[axes[i]] = rest % mesh[axes[i]];
    group.members.push_back(rankOf(mesh, coordinates));
    if (group.members.back() == rank)
      group.index = static_cast<int>(member);
  }
  return group;
}

} // namespace cleave::rt
