#include "runtime/comm/Group.h"

#include "runtime/plan/Mesh.h"

using std::size_t;

namespace cleave::rt {

Group meshGroup(const std::vector<uint32_t> &mesh, const std::vector<uint32_t> &axes, int rank,
                const std::vector<std::vector<uint32_t>> &only) {
  Group group;
  auto isPart = [&](size_t i) { return i < only.size() && !only[i].empty(); };
  auto count = [&](size_t i) { return isPart(i) ? static_cast<unsigned>(only[i].size()) : mesh[axes[i]]; };
  unsigned size = 1;
  for (size_t i = 0; i < axes.size(); ++i)
    size *= count(i);
  std::vector<unsigned> coordinates = meshCoordinates(mesh, static_cast<unsigned>(rank));
  for (unsigned member = 0; member < size; ++member) {
    unsigned rest = member;
    for (size_t i = axes.size(); i-- > 0; rest /= count(i))
      coordinates[axes[i]] = isPart(i) ? only[i][rest % count(i)] : rest % count(i);
    group.members.push_back(rankAt(mesh, coordinates));
    if (group.members.back() == rank)
      group.index = static_cast<int>(member);
  }
  return group;
}

} // namespace cleave::rt
