#include "compiler/Training/Buckets/Units.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace cleave {

namespace {

constexpr int64_t kResidentShare = 32;   // small parameters have at most this part of all bytes
constexpr int64_t kUnitShare = 8;        // a unit with more than this part of all bytes is cut
constexpr int64_t kLeastUnit = 64 << 10; // bytes; a smaller one is not worth a collective of its own
constexpr int64_t kLeastPieceOfUnit = 8; // a unit is closed only if it has at least this part of the cap

// Returns the size up to which parameters are resident. Of the parameters of one size, either all are resident or none.
int64_t residentSize(const std::vector<UnitMember> &members, int64_t total) {
  std::vector<int64_t> sizes;
  for (const UnitMember &member : members)
    sizes.push_back(member.bytes);
  std::sort(sizes.begin(), sizes.end());
  int64_t limit = -1, sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    sum += sizes[i];
    if (sum > total / kResidentShare)
      break;
    if (i + 1 == sizes.size() || sizes[i + 1] != sizes[i])
      limit = sizes[i];
  }
  return limit;
}

// Fills one unit after the other, in the order of the calls.
class UnitFiller {
public:
  explicit UnitFiller(int64_t cap) : cap(cap) {}

  int64_t add(const UnitMember &member) {
    bool isOther = unit == kResidentUnit || member.firstPosition != first || member.lastPosition != last;
    bool isAlone = member.firstPosition != member.lastPosition;
    bool isFull = bytes + member.bytes > cap && bytes >= cap / kLeastPieceOfUnit;
    if (isOther || isAlone || isFull) {
      ++unit;
      bytes = 0;
    }
    first = member.firstPosition;
    last = member.lastPosition;
    bytes += member.bytes;
    return unit;
  }

private:
  int64_t cap;
  int64_t unit = kResidentUnit, bytes = 0, first = -1, last = -1;
};

} // namespace

int64_t unitCap(int64_t total) { return std::max(total / kUnitShare, kLeastUnit); }

std::vector<int64_t> formUnits(const std::vector<UnitMember> &members) {
  int64_t total = 0;
  for (const UnitMember &member : members)
    total += member.bytes;
  int64_t small = residentSize(members, total);
  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto key = [&](size_t i) {
    return std::make_tuple(members[i].firstPosition, members[i].lastPosition, members[i].order);
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  std::vector<int64_t> units(members.size(), kResidentUnit);
  UnitFiller filler(unitCap(total));
  for (size_t i : order)
    if (members[i].bytes > small)
      units[i] = filler.add(members[i]);
  return units;
}

} // namespace cleave
