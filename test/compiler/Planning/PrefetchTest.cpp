// Where gathers are issued, and that no program has more of them in flight than allowed.
#include "compiler/Planning/Draft/Prefetch.h"
#include "compiler/Planning/Draft/Liveness.h"
#include "compiler/Planning/Draft/StreamOrder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

namespace cleave::plan {
namespace {

MemoryAccess use(unsigned allocation, bool reads, bool writes) { return {allocation, 0, 64, reads, writes}; }

// A program in which unit u is gathered into allocation u, and its stored part is allocation 100 + u.
class Program {
public:
  void gather(unsigned unit, bool backward = false) {
    add(kGatherStream, {use(unit, false, true), use(100 + unit, true, false)}).gather = gathers.size();
    add(kGatherStream, {use(unit, true, true)}).gather = gathers.size();
    gathers.push_back({backward});
    unitOf.push_back(unit);
  }
  // A copy from host memory. Allocation 100 + unit is there.
  void copyIn(unsigned unit, uint64_t bytes = 64) {
    add(kCopyStream, {use(unit, false, true), use(100 + unit, true, false)}).gather = gathers.size();
    for (MemoryAccess &touched : instructions.back().uses)
      touched.bytes = bytes;
    gathers.push_back({false, /*isCopy=*/true});
    unitOf.push_back(unit);
  }
  void copyOut(unsigned unit) {
    add(kCopyStream, {use(100 + unit, false, true), use(unit, true, false)}).purpose = Purpose::CopyOut;
  }
  void compute(std::vector<unsigned> units) {
    std::vector<MemoryAccess> uses;
    for (unsigned unit : units)
      uses.push_back(use(unit, true, false));
    add(kComputeStream, std::move(uses));
  }
  DraftInstruction &add(unsigned stream, std::vector<MemoryAccess> uses) {
    DraftInstruction instruction;
    instruction.stream = stream;
    instruction.uses = std::move(uses);
    instruction.payload = instructions.size();
    instructions.push_back(std::move(instruction));
    return instructions.back();
  }

  std::vector<DraftInstruction> instructions;
  std::vector<Gather> gathers;
  std::vector<unsigned> unitOf; // of a gather
};

// "G0 c G1 c": gathers by unit; computations by the units that they use.
std::string text(const Program &program) {
  std::string result;
  std::optional<unsigned> last;
  for (const DraftInstruction &instruction : program.instructions) {
    if (instruction.gather && instruction.gather == last)
      continue;
    last = instruction.gather;
    result += result.empty() ? "" : " ";
    if (instruction.gather) {
      result += "G" + std::to_string(program.unitOf[*instruction.gather]);
      continue;
    }
    if (instruction.purpose == Purpose::CopyOut) {
      result += "o" + std::to_string(instruction.uses.back().allocation);
      continue;
    }
    result += instruction.stream == kReduceStream ? "r" : "c";
    for (const MemoryAccess &touched : instruction.uses)
      result += std::to_string(touched.allocation);
  }
  return result;
}

// Three units forward, and then backward in the opposite order with their own gathers (3, 4, 5). Each one is reduced.
Program stepOfThreeUnits() {
  Program program;
  for (unsigned unit : {0u, 1u, 2u}) {
    program.gather(unit);
    program.compute({unit});
  }
  for (unsigned unit : {3u, 4u, 5u}) {
    program.gather(unit, /*backward=*/true);
    program.compute({unit});
    program.add(kReduceStream, {use(50 + unit, true, true)});
  }
  return program;
}

std::string prefetched(Program program, const PrefetchOptions &options) {
  prefetchGathers(program.instructions, program.gathers, options);
  return text(program);
}

TEST(Prefetch, IssuesTheNextGatherBeforeThisUnitComputes) {
  EXPECT_EQ(prefetched(stepOfThreeUnits(), {true, BackwardPrefetch::Pre, 2}),
            "G0 G1 c0 G2 c1 G3 c2 G4 c3 r53 G5 c4 r54 c5 r55");
}

TEST(Prefetch, PostIssuesItBehindTheUnit) {
  EXPECT_EQ(prefetched(stepOfThreeUnits(), {true, BackwardPrefetch::Post, 2}),
            "G0 G1 c0 G2 c1 c2 G3 c3 G4 r53 c4 G5 r54 c5 r55");
}

TEST(Prefetch, NoneIssuesItAtItsUse) {
  EXPECT_EQ(prefetched(stepOfThreeUnits(), {false, BackwardPrefetch::None, 2}),
            "G0 c0 G1 c1 G2 c2 G3 c3 r53 G4 c4 r54 G5 c5 r55");
}

TEST(Prefetch, OneInFlightIsNoPrefetch) {
  EXPECT_EQ(prefetched(stepOfThreeUnits(), {true, BackwardPrefetch::Pre, 1}),
            prefetched(stepOfThreeUnits(), {false, BackwardPrefetch::None, 2}));
}

TEST(Prefetch, MoreInFlightReachesFurther) {
  EXPECT_EQ(prefetched(stepOfThreeUnits(), {true, BackwardPrefetch::Pre, 3}),
            "G0 G1 G2 c0 G3 c1 G4 c2 G5 c3 r53 c4 r54 c5 r55");
}

TEST(Prefetch, WaitsForTheStateThatItGathers) {
  Program program;
  program.gather(0);
  program.compute({0});
  program.add(kComputeStream, {use(101, false, true)}); // the update of unit 1
  program.gather(1);
  program.compute({1});
  EXPECT_EQ(prefetched(program, {}), "G0 c0 c101 G1 c1");
}

TEST(Prefetch, AUnitThatStaysDoesNotStopTheOthers) {
  Program program; // unit 0 is used at the beginning and at the end
  for (unsigned unit : {0u, 1u, 2u, 3u}) {
    program.gather(unit);
    program.compute({unit});
  }
  program.compute({0});
  EXPECT_EQ(prefetched(program, {}), "G0 G1 c0 G2 c1 G3 c2 c3 c0");
}

// An update, bucket by bucket: copied in, computed in place, copied out.
Program updateOfFourBuckets() {
  Program program;
  for (unsigned unit : {0u, 1u, 2u, 3u}) {
    program.copyIn(unit);
    program.add(kComputeStream, {use(unit, true, true)});
    program.copyOut(unit);
  }
  return program;
}

TEST(Prefetch, CopiesWaitForThoseBeforeThemToBeOut) {
  EXPECT_EQ(prefetched(updateOfFourBuckets(), {}), "G0 G1 c0 o0 G2 c1 o1 G3 c2 o2 c3 o3");
  EXPECT_EQ(prefetched(updateOfFourBuckets(), {true, BackwardPrefetch::Pre, 1}), "G0 c0 o0 G1 c1 o1 G2 c2 o2 G3 c3 o3");
}

TEST(Prefetch, TheFirstCopyComesOneStepAhead) {
  Program program;
  program.compute({50});
  program.compute({51});
  program.copyIn(0);
  program.compute({0});
  EXPECT_EQ(prefetched(program, {}), "c50 G0 c51 c0");
}

TEST(Prefetch, SmallCopiesAreOneUnit) {
  Program program;
  for (unsigned unit : {0u, 1u, 2u, 3u}) {
    program.copyIn(unit, unit == 0 ? 64 : 32);
    program.compute({unit});
  }
  // 1 and 2 together are as large as 0. 3 does not fit with them.
  EXPECT_EQ(prefetched(program, {}), "G0 G1 G2 c0 G3 c1 c2 c3");
}

TEST(Prefetch, ACopyComesBehindWhatStoresItThoughItsUnitBeganBefore) {
  Program program; // an instruction needs 0, which is on the host, and 1, which this program stores
  program.copyIn(0);
  program.add(kComputeStream, {use(50, false, true)});
  program.add(kCopyStream, {use(101, false, true), use(50, true, false)}).purpose = Purpose::CopyOut;
  program.copyIn(1);
  program.instructions.back().gather = 0;
  program.gathers.pop_back();
  program.compute({0, 1});
  EXPECT_EQ(prefetched(program, {}), "c50 o50 G0 c01");
}

TEST(Prefetch, GathersAndCopiesAreBoundedForThemselves) {
  Program program;
  for (unsigned unit : {0u, 1u, 2u}) {
    program.gather(unit);
    program.copyIn(10 + unit);
    program.compute({unit, 10 + unit});
  }
  EXPECT_EQ(prefetched(program, {}), "G10 G0 G1 G11 c010 G2 G12 c111 c212");
}

TEST(Prefetch, WhatIsCopiedOutEndsInTime) {
  Program program; // three values: each one is made and then copied out
  for (unsigned value : {0u, 1u, 2u, 3u}) {
    program.add(kComputeStream, {use(value, false, true)});
    program.copyOut(value);
  }
  boundCopiesOut(program.instructions, 2);
  synchronize(program.instructions, kStreams);
  std::vector<std::optional<Span>> spans = liveSpans(program.instructions, 104);
  EXPECT_TRUE(spans[1]->overlaps(*spans[2]));
  EXPECT_FALSE(spans[0]->overlaps(*spans[3]));
}

TEST(Prefetch, WhatIsCopiedOutLeavesItsBytesToWhatIsCopiedIn) {
  Program program = updateOfFourBuckets();
  prefetchGathers(program.instructions, program.gathers, {});
  synchronize(program.instructions, kStreams);
  std::vector<std::optional<Span>> spans = liveSpans(program.instructions, 104);
  EXPECT_TRUE(spans[0]->overlaps(*spans[1]));
  EXPECT_FALSE(spans[0]->overlaps(*spans[2])); // bucket 0 is copied out before 2 comes, on one stream
  EXPECT_FALSE(spans[1]->overlaps(*spans[3]));
}

TEST(Prefetch, UnreducedBuffersEndInTime) {
  Program program; // three buckets: each one is filled and then reduced
  for (unsigned bucket : {0u, 1u, 2u}) {
    program.add(kComputeStream, {use(bucket, false, true)});
    program.add(kReduceStream, {use(bucket, true, true)});
  }
  boundReductions(program.instructions, {1, 1, 1}, 2);
  EXPECT_TRUE(program.instructions[2].after.empty());
  EXPECT_EQ(program.instructions[4].after,
            std::vector<size_t>{1}); // the third one begins when the first one is reduced
  synchronize(program.instructions, kStreams);
  std::vector<std::optional<Span>> spans = liveSpans(program.instructions, 3);
  EXPECT_FALSE(spans[0]->overlaps(*spans[2]));
  EXPECT_TRUE(spans[1]->overlaps(*spans[2]));
}

TEST(Prefetch, UnreducedBuffersThatAreCopiedOutEndInTime) {
  Program program; // as above, but the reduced values are stored in host memory
  for (unsigned bucket : {0u, 1u, 2u}) {
    program.add(kComputeStream, {use(bucket, false, true)});
    program.add(kReduceStream, {use(bucket, true, true)});
    program.copyOut(bucket);
  }
  boundReductions(program.instructions, std::vector<char>(104, 1), 2);
  boundCopiesOut(program.instructions, 2);
  EXPECT_EQ(program.instructions[6].after, std::vector<size_t>{2}); // the third one begins when the first one is out
  synchronize(program.instructions, kStreams);
  std::vector<std::optional<Span>> spans = liveSpans(program.instructions, 104);
  EXPECT_FALSE(spans[0]->overlaps(*spans[2]));
  EXPECT_TRUE(spans[1]->overlaps(*spans[2]));
}

//===----------------------------------------------------------------------===//
// Random programs
//===----------------------------------------------------------------------===//

struct Life {
  size_t issue = 0, first = 0, last = 0;
};

// Positions in the program's list: where each gather is issued, the first instruction that must come after it, and its
// last use.
std::map<unsigned, Life> lives(const Program &program) {
  std::map<unsigned, Life> result;
  for (size_t at = program.instructions.size(); at-- > 0;)
    if (program.instructions[at].gather)
      result[*program.instructions[at].gather].issue = at;
  for (size_t at = 0; at < program.instructions.size(); ++at) {
    if (program.instructions[at].gather || program.instructions[at].kind != InstructionKind::Work)
      continue;
    for (auto &[gather, life] : result)
      for (const MemoryAccess &touched : program.instructions[at].uses)
        if (touched.allocation == program.unitOf[gather] ||
            (touched.allocation == 100 + program.unitOf[gather] && at > life.issue)) {
          life.first = life.first == 0 ? at : life.first;
          life.last = touched.allocation < 100 ? at : std::max(life.last, life.first);
        }
  }
  return result;
}

// Marks the gathers that the program itself keeps in use while it needs the N next ones, in any order of issue.
std::vector<char> residents(const Program &program, unsigned inFlight) {
  std::map<unsigned, Life> life = lives(program);
  std::vector<unsigned> order;
  for (const auto &entry : life)
    order.push_back(entry.first);
  std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return life[a].first < life[b].first; });
  std::vector<char> result(program.gathers.size(), 0);
  for (size_t i = 0; i + inFlight < order.size(); ++i)
    result[order[i]] = life[order[i]].last >= life[order[i + inFlight]].first;
  return result;
}

Program randomProgram(std::mt19937 &rng) {
  auto pick = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(rng); };
  Program program;
  program.compute({});
  unsigned units = 1 + pick(8);
  std::vector<unsigned> known;
  for (unsigned unit = 0; unit < units; ++unit) {
    program.gather(unit, pick(2));
    known.push_back(unit);
    program.compute({unit});
    for (unsigned more = pick(3); more > 0; --more)
      program.compute({known[pick(4) ? known.size() - 1 : pick(known.size())]});
    if (pick(3) == 0)
      program.add(kReduceStream, {use(60 + pick(3), true, true)});
    if (pick(6) == 0)
      program.add(kComputeStream, {use(100 + pick(units), true, true)}); // writes a stored part
  }
  return program;
}

TEST(Prefetch, NeverExceedsTheBound) {
  std::mt19937 rng(7);
  for (int round = 0; round < 2000; ++round) {
    Program program = randomProgram(rng);
    auto backward = static_cast<BackwardPrefetch>(rng() % 3);
    PrefetchOptions options{rng() % 2 == 0, backward, 1 + static_cast<unsigned>(rng() % 3)};
    std::vector<char> resident = residents(program, options.inFlight);
    std::string before = text(program);
    size_t count = program.instructions.size();
    prefetchGathers(program.instructions, program.gathers, options);
    ASSERT_EQ(program.instructions.size(), count);
    std::string context = before + "  ->  " + text(program);
    for (const auto &entry : lives(program))
      ASSERT_LT(entry.second.issue, entry.second.first) << context;

    // At any time, the number of gathers in memory is bounded. Spans take streams and events into account.
    synchronize(program.instructions, kStreams);
    std::vector<std::optional<Span>> spans = liveSpans(program.instructions, 200);
    for (size_t at = 0; at < program.instructions.size(); ++at) {
      unsigned inFlight = 0;
      for (size_t gather = 0; gather < program.gathers.size(); ++gather) {
        const std::optional<Span> &span = spans[program.unitOf[gather]];
        inFlight += !resident[gather] && span->first < at && at <= span->last;
      }
      ASSERT_LE(inFlight, options.inFlight) << context << " at " << at;
    }
  }
}

TEST(Prefetch, KeepsTheOrderOfEverythingElse) {
  std::mt19937 rng(8);
  for (int round = 0; round < 500; ++round) {
    Program program = randomProgram(rng);
    auto others = [&] {
      std::vector<size_t> payloads;
      for (const DraftInstruction &instruction : program.instructions)
        if (!instruction.gather)
          payloads.push_back(instruction.payload);
      return payloads;
    };
    std::vector<size_t> before = others();
    std::vector<DraftInstruction> original = program.instructions;
    prefetchGathers(program.instructions, program.gathers, {});
    EXPECT_EQ(others(), before);
    // No two conflicting instructions have changed their order.
    std::vector<size_t> position(original.size());
    for (size_t at = 0; at < program.instructions.size(); ++at)
      position[program.instructions[at].payload] = at;
    for (size_t a = 0; a < original.size(); ++a)
      for (size_t b = a + 1; b < original.size(); ++b)
        if (conflict(original[a], original[b], true))
          ASSERT_LT(position[a], position[b]);
  }
}

} // namespace
} // namespace cleave::plan
