#include "compiler/CostModel/MachineModel.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

constexpr const char *kGood = R"({
  "name": "a machine", "source": "a sheet",
  "product_flops_per_second": {"f32": 1e12, "bf16": 8e12},
  "vector_flops_per_second": {"f32": 5e11},
  "memory_bytes_per_second": 1e11,
  "launch_seconds": 0,
  "node": {"ranks": 4, "bytes_per_second": 1e10, "seconds": 2e-6},
  "efficiency": {"products": 0.5, "attention": 0.25, "vector": 1, "memory": 0.8, "links": 0.1}
})";

// Returns the text with `from` replaced by `to`.
std::string with(const std::string &from, const std::string &to) {
  std::string text = kGood;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string errorOf(const std::string &text) {
  MachineModel machine;
  machine.name = "untouched";
  rt::Status status = readMachine(text, &machine);
  EXPECT_FALSE(status.isOk()) << text;
  EXPECT_EQ(machine.name, "untouched"); // nothing was read in part
  return status.message();
}

bool begins(const std::string &text, const std::string &begin) { return text.compare(0, begin.size(), begin) == 0; }

TEST(MachineModel, RatesAreThePeaksTimesTheShareThatIsReached) {
  MachineModel machine;
  ASSERT_TRUE(readMachine(kGood, &machine).isOk());
  EXPECT_EQ(machine.nodeRanks, 4u);
  EXPECT_FALSE(machine.network);
  EXPECT_DOUBLE_EQ(machine.forKernels(Work::Product, *machine.peak(Work::Product, "bf16")).flopsPerSecond, 4e12);
  EXPECT_DOUBLE_EQ(machine.forKernels(Work::Attention, *machine.peak(Work::Attention, "bf16")).flopsPerSecond, 2e12);
  EXPECT_DOUBLE_EQ(machine.forKernels(Work::Vector, *machine.peak(Work::Vector, "f32")).flopsPerSecond, 5e11);
  EXPECT_DOUBLE_EQ(machine.forKernels(Work::Vector, 1).bytesPerSecond, 8e10);
  EXPECT_DOUBLE_EQ(machine.forLink(machine.node).linkBytesPerSecond, 1e9);
  EXPECT_DOUBLE_EQ(machine.forLink(machine.node).linkSeconds, 2e-6);
  EXPECT_FALSE(machine.peak(Work::Vector, "f64"));
}

TEST(MachineModel, ThoseOfTheTableAreRead) {
  ASSERT_EQ(knownMachines(), (std::vector<std::string>{"a100", "h100", "h200"}));
  for (const std::string &name : knownMachines()) {
    MachineModel machine;
    rt::Status status = readMachine(knownMachineJson(name), &machine);
    ASSERT_TRUE(status.isOk()) << name << ": " << status.message();
    EXPECT_TRUE(machine.network && machine.hostCopy) << name;
    EXPECT_GT(*machine.peak(Work::Product, "bf16"), *machine.peak(Work::Product, "f32"));
  }
  EXPECT_EQ(knownMachineJson("b9000"), nullptr);
}

TEST(MachineModel, ErrorsNameTheKey) {
  EXPECT_TRUE(begins(errorOf(with("\"launch_seconds\": 0", "\"launch_second\": 0")),
                     "\"launch_second\": there is no such key; key"));
  EXPECT_TRUE(begins(errorOf(with("\"launch_seconds\": 0,", "")), "launch_seconds: this key is missing; "));
  EXPECT_EQ(errorOf(with("1e11", "-1e11")),
            "memory_bytes_per_second: expected a number from 1000 to 1e+15 bytes/s; got: -100000000000.0");
  EXPECT_EQ(errorOf(with("1e11", "\"fast\"")),
            "memory_bytes_per_second: expected a number from 1000 to 1e+15 bytes/s; got: \"fast\"");
  EXPECT_EQ(errorOf(with("8e12", "8e33")),
            "product_flops_per_second.bf16: expected a number from 1e+06 to 1e+18 FLOP/s; got: 8e+33");
  EXPECT_EQ(errorOf(with("\"ranks\": 4", "\"ranks\": 1.5")),
            "node.ranks: expected a whole number from 1 to 1e+06; got: 1.5");
  EXPECT_TRUE(begins(errorOf(with("\"ranks\": 4, ", "")), "node.ranks: this key is missing"));
  EXPECT_EQ(errorOf(with("\"products\": 0.5", "\"products\": 0")),
            "efficiency.products: expected a number from 0.01 to 1; got: 0");
  EXPECT_TRUE(begins(errorOf(with("\"f32\": 5e11", "\"f33\": 5e11")),
                     "vector_flops_per_second.\"f33\": there is no such key; "));
  EXPECT_EQ(errorOf(with("\"name\": \"a machine\"", "\"name\": 5")), "name: expected a text in quotes; got: 5");
  EXPECT_EQ(errorOf(with("\"launch_seconds\": 0", "\"launch_seconds\": 0, \"launch_seconds\": 1")),
            "'launch_seconds': this key is there twice; remove one");
  EXPECT_EQ(errorOf(with("\"launch_seconds\": 0", "\"launch_seconds\": 0, \"targets\": [1]")),
            "targets: expected a list of texts, as [\"cuda:sm_90\"]; got: [1]");
  EXPECT_EQ(errorOf(with("\"launch_seconds\": 0", "\"launch_seconds\": 0, \"network\": 3")),
            "network: expected an object in braces; got: 3");
}

TEST(MachineModel, WhatIsNoJsonIsSaid) {
  for (std::string text : {"", "h100", "{\"name\": ", "{\"name\": 1e999}", "\xff\xfe"})
    EXPECT_TRUE(begins(errorOf(text), "this is not JSON:")) << text;
  EXPECT_TRUE(begins(errorOf("[1]"), "expected an object in braces"));
  errorOf(std::string(100000, '['));
}

} // namespace
} // namespace cleave
