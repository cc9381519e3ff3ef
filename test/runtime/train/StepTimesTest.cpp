#include "runtime/train/loop/StepTimes.h"

#include "test/runtime/device/PlanBuilder.h"

#include <gtest/gtest.h>

#include <map>

namespace cleave::rt {
namespace {

TEST(StepTimes, TheMedianLeavesTheFirstStepOut) {
  StepTimes times;
  EXPECT_EQ(times.median(), 0);
  times.add(9);
  EXPECT_EQ(times.median(), 9); // there is no other one
  times.add(0.010);
  EXPECT_NEAR(times.median(), 0.010, 0.00006);
  times.add(0.030);
  EXPECT_NEAR(times.median(), 0.020, 0.00011); // halfway between the two
  for (double seconds : {0.020, 5.0, 0.001})
    times.add(seconds);
  EXPECT_NEAR(times.median(), 0.020, 0.00011); // the median of 0.001, 0.010, 0.020, 0.030, 5
}

TEST(StepTimes, AnyNumberAndAnyLength) {
  StepTimes times;
  for (int i = 0; i < 100000; ++i)
    times.add(i % 2 ? 1e-12 : 1e9);
  EXPECT_EQ(times.count(), 100000u);
  EXPECT_GT(times.median(), 0);
}

std::string reportOf(const std::map<std::string, std::string> &properties, unsigned threads, int steps = 4) {
  test::PlanBuilder builder;
  builder.plan.threads = 1;
  for (const auto &[key, value] : properties) {
    builder.plan.properties.push_back(std::make_unique<fb::PropertyT>());
    builder.plan.properties.back()->key = key;
    builder.plan.properties.back()->value = value;
  }
  StepTimes times;
  for (int i = 0; i < steps; ++i)
    times.add(0.02);
  return stepTimeReport(builder.open(), times, threads);
}

TEST(StepTimes, TheReportSetsPredictedAndMeasuredSideBySide) {
  std::map<std::string, std::string> predicted = {{"predicted.seconds", "0.010000000"}, {"predicted.machine", "a box"}};
  std::string report = reportOf(predicted, 1);
  EXPECT_EQ(report.find("step time: predicted 10.00 ms (a box), measured "), 0u) << report;
  EXPECT_NE(report.find(" ms (median of 3 steps), "), std::string::npos) << report;
  size_t at = report.find(" steps), ") + 9;
  EXPECT_NEAR(std::stod(report.substr(at)), 2, 0.02) << report;
  EXPECT_NE(reportOf(predicted, 2).find("a box; this run has 2 threads a rank and the prediction 1"), std::string::npos);
  EXPECT_NE(reportOf({}, 1).find("(median of 3 steps); no prediction: the machine was not calibrated when the "
                                   "program was compiled"),
            std::string::npos);
  EXPECT_NE(reportOf({}, 1, 1).find("(the first step)"), std::string::npos);
  EXPECT_EQ(reportOf(predicted, 1, 0), "");
}

} // namespace
} // namespace cleave::rt
