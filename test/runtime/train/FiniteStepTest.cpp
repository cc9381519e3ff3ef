#include "runtime/train/loop/FiniteStep.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace cleave::rt;

namespace {

std::string messageFor(double loss, std::optional<double> norm, const NonFiniteValue &input,
                       const std::string &weight = "") {
  return checkFinite(
             loss, norm, std::nullopt, [&] { return input; }, [&] { return weight; })
      .message();
}

bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

// Masks hold infinite values on purpose. Whether a value may belong to one is a fact, and not a matter of the message's
// words, which have names of the user's files and inputs.
TEST(FiniteStep, OnlyAnInfiniteValueMayBeOfAMask) {
  NonFiniteValue infinite{"input 'x' holds a value that is infinite", true};
  EXPECT_TRUE(has(messageFor(INFINITY, std::nullopt, infinite), "If it is a mask, give a smaller learning rate"));
  NonFiniteValue named{"sum that is infinite.npy, sample 3: input 'x' holds a value that is not a number", false};
  std::string text = messageFor(NAN, NAN, named);
  EXPECT_TRUE(has(text, "take such samples out of the data")) << text;
  EXPECT_FALSE(has(text, "mask")) << text;
}

// Values are called finite only if all have been looked at.
TEST(FiniteStep, SaysWhatWasLookedAt) {
  EXPECT_EQ(messageFor(INFINITY, 1.0, {}),
            "the loss is infinite; the values of the step's data are finite, so give a smaller learning rate (--lr) or "
            "limit of the gradients' norm (--clip-grad-norm)");
  NonFiniteValue unseen;
  unseen.sawAll = false;
  EXPECT_EQ(messageFor(INFINITY, 1.0, unseen),
            "the loss is infinite; check that the values of the step's inputs are finite; if they are, give a smaller "
            "learning rate (--lr) or limit of the gradients' norm (--clip-grad-norm)");
}

TEST(FiniteStep, WeightsAreNamedIfTheDataAreFinite) {
  std::string weight = "weight 'w' holds a value that is not a number";
  EXPECT_EQ(messageFor(NAN, NAN, {}, weight),
            "the loss is not a number, because " + weight + "; begin with other weights");
  EXPECT_FALSE(has(messageFor(NAN, NAN, {"input 'x' holds a value that is not a number"}, weight), "weight"));
  EXPECT_TRUE(checkFinite(NAN, 0.0, std::nullopt, {}, {}).isOk()); // all labels are ignored
}

} // namespace
