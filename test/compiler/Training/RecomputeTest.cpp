#include "compiler/Training/Residuals/Recompute.h"

#include "gtest/gtest.h"

using cleave::parseRecompute;
using cleave::printRecompute;
using cleave::Recompute;
using cleave::recomputedSegments;
using cleave::RecomputeKind;

namespace {
Recompute parsed(llvm::StringRef text) {
  auto result = parseRecompute(text);
  EXPECT_TRUE(static_cast<bool>(result)) << text.str();
  return result ? *result : (llvm::consumeError(result.takeError()), Recompute());
}

std::string errorOf(llvm::StringRef text) {
  auto result = parseRecompute(text);
  return result ? "no error" : llvm::toString(result.takeError());
}

using Segments = std::vector<int>;
} // namespace

TEST(Recompute, TextsComeBack) {
  for (const char *text : {"never", "none", "blocks", "every=2", "first=3", "segments=4", "auto"})
    EXPECT_EQ(printRecompute(parsed(text)), text);
  EXPECT_EQ(printRecompute(parsed("every=1")), "blocks");
}

TEST(Recompute, OtherTextsAreErrors) {
  for (const char *text : {"", "all", "every", "every=", "every=0", "every=-1", "every=2x", "first=1.5", "auto=2"})
    EXPECT_NE(errorOf(text), "no error") << text;
  EXPECT_NE(errorOf("every=0").find("'0'"), std::string::npos);
  EXPECT_NE(errorOf("all").find("expected never, none, blocks, every=N"), std::string::npos);
}

TEST(Recompute, Segments) {
  EXPECT_EQ(recomputedSegments(parsed("none"), 3), (Segments{-1, -1, -1}));
  EXPECT_EQ(recomputedSegments(parsed("blocks"), 3), (Segments{0, 1, 2}));
  EXPECT_EQ(recomputedSegments(parsed("every=2"), 5), (Segments{-1, 1, -1, 3, -1}));
  EXPECT_EQ(recomputedSegments(parsed("first=2"), 4), (Segments{0, 1, -1, -1}));
  EXPECT_EQ(recomputedSegments(parsed("segments=2"), 5), (Segments{0, 0, 1, 1, 2}));
  EXPECT_TRUE(recomputedSegments(parsed("blocks"), 0).empty());
}
