#include "compiler/CostModel/MachineModel.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

RateTable products() {
  return {"matmul", "f32", "nn", {{"batch", {1}}, {"m", {4, 16}}, {"n", {8}}, {"k", {2, 8}}}, {1e9, 4e9, 4e9, 16e9}};
}

TEST(RateTable, PlacesOfTheGridHaveTheirRates) {
  RateTable table = products();
  EXPECT_NEAR(table.rateAt({1, 4, 8, 2}) / (1e9), 1, 1e-12);
  EXPECT_NEAR(table.rateAt({1, 4, 8, 8}) / (4e9), 1, 1e-12); // k is the fastest
  EXPECT_NEAR(table.rateAt({1, 16, 8, 2}) / (4e9), 1, 1e-12);
  EXPECT_NEAR(table.rateAt({1, 16, 8, 8}) / (16e9), 1, 1e-12);
}

TEST(RateTable, BetweenThemRatesFollowTheLogarithms) {
  EXPECT_NEAR(products().rateAt({1, 8, 8, 2}), 2e9, 1); // 8 is half way from 4 to 16
  EXPECT_NEAR(products().rateAt({1, 8, 8, 4}), 4e9, 1);
}

TEST(RateTable, AboveTheGridIsAsFastAndBelowTakesAsLong) {
  EXPECT_NEAR(products().rateAt({64, 1024, 512, 4096}) / (16e9), 1, 1e-12);
  EXPECT_NEAR(products().rateAt({1, 2, 8, 2}) / (0.5e9), 1, 1e-12); // half of the work in the same time
  EXPECT_NEAR(products().rateAt({1, 1, 2, 1}) / (1e9 / 32), 1, 1e-12);
}

Measurements measurements() {
  Measurements measured;
  measured.threads = 2;
  measured.traffic = {{1000, 1e11}, {100000, 1e9}};
  measured.kernels = {products()};
  return measured;
}

TEST(Measurements, TrafficIsAsFastAsTheCacheThatItComesFrom) {
  Measurements measured = measurements();
  EXPECT_DOUBLE_EQ(measured.trafficRate(10), 1e11);
  EXPECT_DOUBLE_EQ(measured.trafficRate(1000), 1e11);
  EXPECT_NEAR(measured.trafficRate(10000), 1e10, 10); // half way, by logarithms
  EXPECT_DOUBLE_EQ(measured.trafficRate(1e9), 1e9);
  EXPECT_EQ(measured.table("matmul", "f32", "nt"), nullptr);
  EXPECT_EQ(measured.table("matmul", "bf16", "nn"), nullptr);
  EXPECT_NE(measured.table("matmul", "f32", "nn"), nullptr);
}

MachineModel machine() {
  MachineModel machine;
  machine.name = "a \"machine\"";
  machine.source = "measured";
  machine.productRates = {{"f32", 1e11}, {"bf16", 2e11}};
  machine.vectorRates = {{"f32", 5e10}};
  machine.memoryRate = 1e10;
  machine.launchSeconds = 1e-8;
  machine.nodeRanks = 3;
  machine.node = {5e9, 1e-6};
  machine.hostCopy = Link{6e9, 2e-6};
  machine.attentionEfficiency = 0.5;
  machine.targets = {"host"};
  machine.measured = measurements();
  return machine;
}

TEST(Measurements, WhatIsWrittenIsRead) {
  MachineModel read;
  std::string text = writeMachine(machine());
  rt::Status status = readMachine(text, &read);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(writeMachine(read), text);
  EXPECT_EQ(read.name, machine().name);
  EXPECT_EQ(read.nodeRanks, 3u);
  EXPECT_FALSE(read.network);
  ASSERT_TRUE(read.measured);
  EXPECT_EQ(read.measured->threads, 2u);
  EXPECT_NEAR(read.measured->kernels[0].rateAt({1, 8, 8, 4}) / (products().rateAt({1, 8, 8, 4})), 1, 1e-12);
  EXPECT_DOUBLE_EQ(read.measured->trafficRate(5000), measurements().trafficRate(5000));
}

std::string errorWith(const std::function<void(MachineModel &)> &change) {
  MachineModel changed = machine(), read;
  change(changed);
  rt::Status status = readMachine(writeMachine(changed), &read);
  EXPECT_FALSE(status.isOk());
  EXPECT_EQ(read.name, "");
  return status.message();
}

TEST(Measurements, ErrorsNameTheKey) {
  EXPECT_EQ(errorWith([](MachineModel &m) { m.measured->traffic[1].bytes = 500; }),
            "measured.traffic: expected ascending bytes; got: 500.0 after 1000.0");
  EXPECT_EQ(errorWith([](MachineModel &m) { m.measured->traffic.clear(); }),
            "measured.traffic: expected a list of objects in braces; got: []");
  EXPECT_EQ(errorWith([](MachineModel &m) { m.measured->traffic[1].bytesPerSecond = -1; }),
            "measured.traffic[1].bytes_per_second: expected a number from 1000 to 1e+15 bytes/s; got: -1.0");
  EXPECT_EQ(errorWith([](MachineModel &m) { m.measured->kernels[0].rates.pop_back(); }),
            "measured.kernels: matmul f32 nn: expected 4 rates, one for each place of the axes; got: 3");
  EXPECT_EQ(errorWith([](MachineModel &m) { m.measured->kernels[0].rates[2] = 0; }),
            "measured.kernels[0].flops_per_second[2]: expected a number from 1e+06 to 1e+18 FLOP/s; got: 0.0");
  EXPECT_EQ(errorWith([](MachineModel &m) { m.measured->kernels[0].axes[1].values = {16, 4}; }),
            "measured.kernels: matmul f32 nn: expected ascending values of axis m");
  EXPECT_EQ(errorWith([](MachineModel &m) { m.measured->kernels[0].axes[1].name = "rows"; }),
            "measured.kernels: matmul nn: expected the axes [\"batch\",\"m\",\"n\",\"k\"]; got: "
            "[\"batch\",\"rows\",\"n\",\"k\"]");
  EXPECT_EQ(errorWith([](MachineModel &m) { m.measured->kernels[0].kernel = "sort"; }).substr(0, 69),
            "measured.kernels: there is no kernel \"sort\" of which rates are read; ");
}

} // namespace
} // namespace cleave
