#include "compiler/Training/Buckets/Units.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace cleave;
using Numbers = std::vector<int64_t>;

TEST(Units, TheHeadersExample) {
  constexpr int64_t kB = 1000;
  EXPECT_EQ(formUnits({{90 * kB, 0, 0, 0},
                       {200 * kB, 1, 1, 1},
                       {1 * kB, 1, 1, 2},
                       {200 * kB, 3, 3, 3},
                       {1 * kB, 3, 3, 4},
                       {300 * kB, 4, 4, 5},
                       {200 * kB, 4, 4, 6}}),
            (Numbers{1, 2, 0, 3, 0, 4, 5}));
}

TEST(Units, NothingAndOneParameter) {
  EXPECT_EQ(formUnits({}), Numbers{});
  EXPECT_EQ(formUnits({{4, 0, 0, 0}}), Numbers{1});
}

TEST(Units, ParametersOfSeveralPlacesAreAlone) {
  constexpr int64_t kMB = 1 << 20;
  EXPECT_EQ(formUnits({{kMB, 0, 8, 0}, {kMB, 0, 0, 1}, {kMB, 8, 8, 2}, {kMB, 0, 8, 3}}), (Numbers{2, 1, 4, 3}));
}

// Parameters of random sizes and positions. The bounds in the header must hold.
TEST(Units, RandomParameters) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<UnitMember> members(1 + random() % 200);
    int64_t total = 0, largest = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      int64_t position = static_cast<int64_t>(random() % 12);
      int64_t last = random() % 10 == 0 ? position + static_cast<int64_t>(random() % 3) : position;
      members[i] = {int64_t{4} << random() % 22, position, last, static_cast<int64_t>(i)};
      total += members[i].bytes;
      largest = std::max(largest, members[i].bytes);
    }
    std::vector<int64_t> units = formUnits(members);
    std::map<int64_t, int64_t> bytes;
    std::map<int64_t, std::pair<int64_t, int64_t>> positions;
    for (size_t i = 0; i < members.size(); ++i) {
      bytes[units[i]] += members[i].bytes;
      auto span = std::make_pair(members[i].firstPosition, members[i].lastPosition);
      if (units[i] != kResidentUnit)
        EXPECT_EQ(positions.try_emplace(units[i], span).first->second, span) << "a unit is needed at one position";
    }
    EXPECT_LE(bytes[kResidentUnit], total / 32);
    for (auto [unit, sum] : bytes)
      EXPECT_LE(sum, std::max<int64_t>({total / 8, 64 << 10, 0}) + largest) << "of " << total;
    for (auto [unit, sum] : bytes)
      EXPECT_TRUE(sum <= std::max<int64_t>(total / 8, 64 << 10) || sum <= largest + total / 64 + (8 << 10));
  }
}
