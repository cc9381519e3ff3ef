// Contents are in normal form however bytes are cut and moved. Memory keeps own parts and wholes apart.
#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "compiler/Planning/Verify/Values/MemoryContents.h"

#include <gtest/gtest.h>

#include <set>

namespace cleave::plan {
namespace {

Content valueOf(const char *name, uint64_t bytes) { return Content::of(Expression(name).number(), bytes); }

TEST(Content, JoinsWhatContinues) {
  Content a = valueOf("a", 96), joined = a.slice(0, 32);
  joined.append(a.slice(32, 64));
  EXPECT_EQ(joined.number(), a.number());
  EXPECT_EQ(joined.pieces().size(), 1u);
  Content swapped = a.slice(32, 64);
  swapped.append(a.slice(0, 32));
  EXPECT_NE(swapped.number(), a.number());
  EXPECT_NE(a.slice(0, 32).number(), a.slice(32, 32).number());
}

// Both halves depend on all added data, and in different ways: the 128 bits of a number are not the same 64 bits twice.
TEST(Content, NumbersHaveTwoHalves) {
  std::set<uint64_t> halves;
  for (uint64_t i = 0; i < 1000; ++i) {
    ValueNumber number = Expression("value").add(i).number();
    halves.insert({number.low, number.high});
    EXPECT_NE(Expression("x").add(ValueNumber{i, 1}).number(), Expression("x").add(ValueNumber{i, 2}).number());
  }
  EXPECT_EQ(halves.size(), 2000u);
}

// The words of an expression tell its parts. Otherwise a text could continue as a number, and a list as the next one:
// these expressions add the same bytes, in other parts.
TEST(Content, NumbersTellPartsApart) {
  std::string eight(8, '\0'), nine(9, '\0');
  std::vector<uint64_t> none, one{0}, two{0, 0};
  auto start = [] { return Expression("x"); };
  std::vector<ValueNumber> numbers{
      start().number(),
      start().add(uint64_t{0}).number(),
      start().add(uint64_t{0}).add(uint64_t{0}).number(),
      start().add(uint64_t{0}).add(uint64_t{0}).add(uint64_t{0}).number(),
      start().add(ValueNumber{}).number(),
      start().add(ValueNumber{}).add(uint64_t{0}).number(),
      start().add("").number(),
      start().add("").add("").number(),
      start().add(eight).number(),
      start().add(nine).number(),
      start().add(eight).add("").number(),
      start().add("").add(eight).number(),
      start().addAll(none).number(),
      start().addAll(one).number(),
      start().addAll(two).number(),
      start().addAll(none).addAll(one).number(),
      start().addAll(one).addAll(none).number(),
      start().addAll(one).addAll(one).number(),
      start().addAll(std::vector<ValueNumber>(1)).number(),
      start().addAll(none).add("").number(),
      start().add("").addAll(none).number(),
  };
  std::set<std::pair<uint64_t, uint64_t>> different;
  for (const ValueNumber &number : numbers)
    different.insert({number.low, number.high});
  EXPECT_EQ(different.size(), numbers.size());
}

// A name may contain the bytes of other parts: of a segment that another state has after its own.
TEST(Content, AStateIsNotAnotherOneWithALongName) {
  StateFacts two;
  two.name = "s";
  two.bytes = 64;
  two.segments.resize(2);
  two.segments[0].name = "a";
  two.segments[1].name = "b";
  StateFacts one = two;
  one.segments.pop_back();
  for (size_t length : {0, 8, 16, 24, 32, 64, 96})
    for (char fill : {'\0', 'b'}) {
      one.segments[0].name = "a" + std::string(length, fill);
      EXPECT_NE(one.content().number(), two.content().number());
      one.segments[0].source = one.segments[0].name;
      EXPECT_NE(one.content().number(), two.content().number());
    }
}

TEST(Content, KnowsFillsByTheirShortestPattern) {
  EXPECT_EQ(Content::repeated(0, 4, 64).number(), Content::repeated(0, 8, 64).number());
  EXPECT_EQ(Content::repeated(0x3f803f80, 4, 64).number(), Content::repeated(0x3f80, 2, 64).number());
  EXPECT_NE(Content::repeated(0x3f800000, 4, 64).number(), Content::repeated(0x3f80, 2, 64).number());
  Content fill = Content::repeated(7, 4, 64);
  EXPECT_EQ(fill.slice(16, 8).number(), Content::repeated(7, 4, 8).number());
  EXPECT_NE(fill.slice(2, 8).number(), Content::repeated(7, 4, 8).number());
}

TEST(Content, ASliceOfAShareIsAShareOfSlices) {
  Content whole = valueOf("a", 40);
  whole.append(valueOf("b", 56));
  whole.append(Content::repeated(0, 4, 32)); // 128 bytes for 4 ranks
  Content share = whole.shareOf(ValueNumber{1}, 1, 4, 32);
  EXPECT_EQ(share.bytes(), 32u);
  for (uint64_t begin = 0; begin < 32; begin += 4)
    for (uint64_t bytes = 4; begin + bytes <= 32; bytes += 4)
      EXPECT_EQ(whole.slice(begin, 96 + bytes).shareOf(ValueNumber{1}, 1, 4, 32).number(),
                share.slice(begin, bytes).number())
          << begin << " " << bytes;
  EXPECT_NE(share.number(), whole.shareOf(ValueNumber{2}, 1, 4, 32).number());
  EXPECT_EQ(Content::repeated(0, 4, 128).shareOf(ValueNumber{1}, 1, 4, 32).number(),
            Content::repeated(0, 4, 32).number());
}

constexpr ShareLayout kLayout{ValueNumber{1}, 1, 2, 32}, kOther{ValueNumber{2}, 2, 2, 16};

ValueNumber readWhole(const MemoryContents &memory, uint64_t begin, uint64_t end, bool expected) {
  bool hasParts = false;
  ValueNumber number = memory.read(begin, end, &hasParts).number();
  EXPECT_EQ(hasParts, expected);
  return number;
}

ValueNumber readShare(const MemoryContents &memory, const ShareLayout &layout, uint64_t begin, uint64_t end,
                      bool expected = false) {
  bool hasParts = false;
  ValueNumber number = memory.readShare(layout, begin, end, &hasParts).number();
  EXPECT_EQ(hasParts, expected);
  return number;
}

TEST(MemoryContents, OwnPartsAreNoWhole) {
  MemoryContents memory;
  Content whole = valueOf("w", 64), part = valueOf("u", 32);
  memory.write(0, whole);
  EXPECT_EQ(readWhole(memory, 0, 64, false), whole.number());
  EXPECT_EQ(readShare(memory, kLayout, 0, 32), whole.shareOf(ValueNumber{1}, 1, 2, 32).number());
  memory.writeShare(kLayout, 0, part);
  readWhole(memory, 0, 64, true);
  EXPECT_EQ(readShare(memory, kLayout, 0, 32), part.number());
  EXPECT_EQ(readShare(memory, kLayout, 8, 16), part.slice(8, 8).number());
  readShare(memory, kOther, 0, 16, true);
  memory.write(0, whole);
  EXPECT_EQ(readWhole(memory, 0, 64, false), whole.number());
}

// Members of a bucket: the share of one member is written, and the share of its neighbour is still that of the whole.
TEST(MemoryContents, PartsOfOneCutAreApart) {
  MemoryContents memory;
  Content whole = valueOf("w", 64);
  memory.write(0, whole);
  memory.writeShare(kLayout, 0, valueOf("u", 16));
  EXPECT_EQ(readShare(memory, kLayout, 16, 32), whole.shareOf(ValueNumber{1}, 1, 2, 32).slice(16, 16).number());
  Content both = valueOf("u", 16);
  both.append(whole.shareOf(ValueNumber{1}, 1, 2, 32).slice(16, 16));
  EXPECT_EQ(readShare(memory, kLayout, 0, 32), both.number());
}

TEST(MemoryContents, WhatIsWrittenOverAPartEndsIt) {
  MemoryContents memory;
  memory.write(0, valueOf("w", 64));
  memory.writeShare(kLayout, 0, valueOf("u", 32));
  memory.write(40, valueOf("v", 4)); // in the second rank's share
  EXPECT_NE(readShare(memory, kLayout, 0, 32), valueOf("u", 32).number());
  EXPECT_NE(readWhole(memory, 0, 32, false), valueOf("w", 32).number());
  EXPECT_EQ(readWhole(memory, 40, 44, false), valueOf("v", 4).number());
}

CollectiveFacts facts(rt::Opcode opcode) {
  CollectiveFacts facts;
  facts.opcode = opcode;
  facts.group.add(0, "dp", 2);
  facts.count = 16;
  return facts;
}

TEST(Meaning, ACollectiveIsAllOfItsFields) {
  Contribution data{"", valueOf("g", 64), true};
  CollectiveFacts first = facts(rt::Opcode::AllReduce);
  ValueNumber number = resultOf(first, {data}, 0)->number();
  auto changed = [&](auto change) {
    CollectiveFacts other = first;
    change(other);
    return resultOf(other, {data}, 0)->number();
  };
  EXPECT_NE(number, changed([](auto &f) { f.dtype = 4; }));
  EXPECT_NE(number, changed([](auto &f) { f.reduction = 1; }));
  EXPECT_NE(number, changed([](auto &f) { f.count = 32; }));
  EXPECT_NE(number, changed([](auto &f) {
              f.group = {};
              f.group.add(1, "tp", 2);
            }));
  EXPECT_NE(number, resultOf(facts(rt::Opcode::ReduceScatter), {data}, 0)->number());
  EXPECT_EQ(resultOf(facts(rt::Opcode::ReduceScatter), {data}, 0)->bytes(), 32u);
}

TEST(Meaning, WhatIsMetAlongAnotherAxisDiffersAlongIt) {
  constexpr AxisMask kDp = 1, kFsdp = 2;
  Contribution a{"", valueOf("a", 64), true}, b{"", valueOf("b", 64), true};
  EXPECT_EQ(resultOf(facts(rt::Opcode::AllReduce), {a, b}, 0, kFsdp | kDp)->varies(), kFsdp);
  TransferFacts transfer;
  transfer.axis.add(0, "dp", 2);
  EXPECT_EQ(received(transfer, {a, b}, kFsdp).varies(), kFsdp | kDp);
  EXPECT_EQ(received(transfer, {a, a}, kFsdp).varies(), 0u);
}

TEST(Meaning, ABroadcastGivesWhatTheRootHas) {
  Contribution root{"0:0-1;", valueOf("w", 64), true}, other{"0:1-2;", std::nullopt, false};
  EXPECT_EQ(resultOf(facts(rt::Opcode::Broadcast), {root, other}, 1)->number(), root.data->number());
  root.data = Content::of(Expression("x").number(), 64, 1); // the value is not the same on the ranks that receive it
  EXPECT_NE(resultOf(facts(rt::Opcode::Broadcast), {root, other}, 1)->number(), root.data->number());
  EXPECT_FALSE(resultOf(facts(rt::Opcode::Reduce), {root, other}, 1).has_value());
}

} // namespace
} // namespace cleave::plan
