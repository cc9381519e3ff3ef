#include "runtime/session/TokenSampler.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace cleave::rt;

namespace {

uint64_t draw(const std::vector<double> &logits, const Sampling &sampling, double uniform) {
  uint64_t token = ~0ull;
  Status status = drawToken(logits, sampling, uniform, &token);
  EXPECT_TRUE(status.isOk()) << status.message();
  return token;
}

// Returns how often each token is drawn over an even grid of numbers in [0, 1).
std::map<uint64_t, double> frequencies(const std::vector<double> &logits, const Sampling &sampling) {
  constexpr int kNumbers = 10000;
  std::map<uint64_t, double> result;
  for (int i = 0; i < kNumbers; ++i)
    result[draw(logits, sampling, double(i) / kNumbers)] += 1.0 / kNumbers;
  return result;
}

const std::vector<double> kShares = {0.1, 0.4, 0.05, 0.3, 0.15};

std::vector<double> logitsOf(const std::vector<double> &shares) {
  std::vector<double> logits;
  for (double share : shares)
    logits.push_back(std::log(share) + 7); // softmax does not change if a constant is added to all logits
  return logits;
}

void expectShares(const std::map<uint64_t, double> &drawn, const std::map<uint64_t, double> &expected) {
  EXPECT_EQ(drawn.size(), expected.size());
  for (const auto &[token, share] : expected)
    EXPECT_NEAR(drawn.count(token) ? drawn.at(token) : 0, share, 2e-4) << token;
}

TEST(TokenSampler, DrawsBySoftmax) {
  expectShares(frequencies(logitsOf(kShares), {1, 0, 1}), {{0, 0.1}, {1, 0.4}, {2, 0.05}, {3, 0.3}, {4, 0.15}});
  // Temperature 0.5 squares the shares.
  double sum = 0;
  for (double share : kShares)
    sum += share * share;
  expectShares(frequencies(logitsOf(kShares), {0.5, 0, 1}),
               {{0, 0.01 / sum}, {1, 0.16 / sum}, {2, 0.0025 / sum}, {3, 0.09 / sum}, {4, 0.0225 / sum}});
}

TEST(TokenSampler, TopKKeepsTheLikeliest) {
  expectShares(frequencies(logitsOf(kShares), {1, 2, 1}), {{1, 4.0 / 7}, {3, 3.0 / 7}});
  expectShares(frequencies(logitsOf(kShares), {1, 1, 1}), {{1, 1}});
  EXPECT_EQ(frequencies(logitsOf(kShares), {1, 99, 1}), frequencies(logitsOf(kShares), {1, 0, 1}));
}

// 0.4 + 0.3 is less than 0.75, so the third token is kept, too. A top-p close to 0 keeps one token.
TEST(TokenSampler, TopPKeepsTheFewestThatReachIt) {
  expectShares(frequencies(logitsOf(kShares), {1, 0, 0.75}), {{1, 0.4 / 0.85}, {3, 0.3 / 0.85}, {4, 0.15 / 0.85}});
  expectShares(frequencies(logitsOf(kShares), {1, 0, 1e-9}), {{1, 1}});
  // Top-p is applied to the tokens that top-k keeps: 4/7 alone reach 0.5.
  expectShares(frequencies(logitsOf(kShares), {1, 2, 0.5}), {{1, 1}});
}

TEST(TokenSampler, OfEqualLogitsTheLowerIdIsTheLikelier) {
  std::vector<double> equal(6, 2.5);
  EXPECT_EQ(draw(equal, {0, 0, 1}, 0.9), 0u);
  expectShares(frequencies(equal, {1, 2, 1}), {{0, 0.5}, {1, 0.5}});
  expectShares(frequencies(equal, {1, 0, 0.5}), {{0, 1.0 / 3}, {1, 1.0 / 3}, {2, 1.0 / 3}});
}

TEST(TokenSampler, MaskedTokensAreNeverDrawn) {
  double masked = -INFINITY;
  expectShares(frequencies({masked, 1, masked, 1}, {1, 0, 1}), {{1, 0.5}, {3, 0.5}});
  expectShares(frequencies({masked, 1, masked, 1}, {1, 3, 0.999}), {{1, 0.5}, {3, 0.5}});
}

TEST(TokenSampler, RefusesWhatIsNoNumber) {
  uint64_t token = 0;
  for (const std::vector<double> &logits :
       {std::vector<double>{1, NAN}, {NAN, 1}, {INFINITY, 1}, {-INFINITY, -INFINITY}})
    for (double temperature : {0.0, 1.0})
      EXPECT_FALSE(drawToken(logits, {temperature, 0, 1}, 0.5, &token).isOk());
  EXPECT_TRUE(checkSampling({0, 0, 1}).isOk());
  for (const Sampling &sampling : {Sampling{-1, 0, 1}, {NAN, 0, 1}, {1, 0, 0}, {1, 0, 1.1}, {1, 0, NAN}})
    EXPECT_FALSE(checkSampling(sampling).isOk());
}

} // namespace
