// Tests that the tables generated from the .def files agree with each other.
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Opcode.h"

#include "kernels/common/host/Registry.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace cleave::rt;

namespace {

TEST(InstructionSet, NumbersAndMnemonicsAreUnique) {
  std::set<std::string_view> mnemonics;
  for (size_t i = 0; i < opcodes().size(); ++i) {
    const OpcodeInfo &info = opcodes()[i];
    EXPECT_EQ(static_cast<size_t>(info.opcode), i);
    EXPECT_TRUE(mnemonics.insert(info.mnemonic).second) << info.mnemonic;
    EXPECT_EQ(opcodeInfo(info.mnemonic), &info);
    for (size_t f = 0; f < info.fields.size(); ++f)
      EXPECT_EQ(fieldIndex(info.opcode, info.fields[f]), static_cast<int>(f));
  }
  EXPECT_EQ(opcodeInfo(static_cast<unsigned>(opcodes().size())), nullptr);
  EXPECT_TRUE(opcodeInfo("launch")->anyBuffers);
  EXPECT_TRUE(isCollective(Opcode::AllGather));
  EXPECT_FALSE(isCollective(Opcode::Call));
}

TEST(KernelSet, EveryKernelHasAHostImplementation) {
  for (const KernelDef &def : kernelDefs())
    EXPECT_NE(findHostKernel(def.name), nullptr) << def.name;
}

// A kernel with a bias has the rates of the kernel without. A rate and its kernel do the same kind of work, on which
// the sizes that the rate depends on are based.
TEST(KernelSet, RatesAreThoseOfAKernelWithTheSameWork) {
  for (const KernelDef &def : kernelDefs()) {
    if (def.rates == "none")
      continue;
    const KernelDef *rated = findKernelDef(def.rates);
    ASSERT_NE(rated, nullptr) << def.name;
    EXPECT_EQ(rated->rates, rated->name) << def.name;
    EXPECT_EQ(rated->work, def.work) << def.name;
  }
  EXPECT_EQ(findKernelDef("matmul_bias")->rates, "matmul");
  EXPECT_EQ(findKernelDef("matmul_pack_b")->work, KernelWork::Vector);
}

// A buffer has a format of its own exactly if some kernel packs it. The two kernels have the same parameters.
TEST(KernelSet, EveryPackedBufferHasItsPacker) {
  std::set<std::string_view> packers;
  for (const KernelDef &def : kernelDefs())
    for (const KernelDef::BufferDef &buffer : def.buffers)
      if (const KernelDef *packer = packerOf(def, buffer)) {
        packers.insert(packer->name);
        EXPECT_EQ(&packer->reader(), &def) << packer->name;
        EXPECT_TRUE(def.hasParam(buffer.packedParam())) << def.name;
        EXPECT_EQ(packer->params.size(), def.params.size()) << packer->name;
      } else {
        EXPECT_EQ(def.hasParam(buffer.packedParam()), def.packsFor != nullptr && buffer.name != "scratch") << def.name;
      }
  EXPECT_EQ(packers, (std::set<std::string_view>{"matmul_pack_b", "matmul_bias_pack_b", "convolution_pack_w",
                                                 "convolution_bias_pack_w"}));
  EXPECT_EQ(findKernelDef("matmul_bias_grad")->packsFor, nullptr);
}

TEST(KernelSet, ParametersGoThereAndBack) {
  for (const KernelDef &def : kernelDefs()) {
    KernelParams params(def);
    int64_t next = 10;
    std::map<std::string_view, std::vector<int64_t>> values;
    for (const auto &param : def.params) {
      values[param.name] = {next++};
      if (param.name == "rank")
        values[param.name] = {2};
      else if (param.isList)
        values[param.name].push_back(next++);
      else if (!param.whole.empty())
        values[param.name] = values.at(param.whole);
      params.set(param.name, values[param.name]);
    }
    std::vector<int64_t> list;
    ASSERT_TRUE(params.finish(&list).isOk()) << def.name;
    KernelArgs args;
    ASSERT_TRUE(KernelArgs::read(def, list, &args).isOk()) << def.name;
    for (const auto &param : def.params)
      EXPECT_EQ(args.list(param.name), values[param.name]) << def.name << " " << param.name;
    list.push_back(0);
    EXPECT_FALSE(KernelArgs::read(def, list, &args).isOk());
  }
}

// With another size than 1 or the whole, a kernel would read an operand's parts beyond its end.
TEST(KernelSet, PartsOfASizeAreOneOrAll) {
  for (const KernelDef &def : kernelDefs())
    for (const auto &shared : def.params) {
      if (shared.whole.empty())
        continue;
      EXPECT_TRUE(def.hasParam(shared.whole)) << def.name << " " << shared.name;
      auto read = [&](int64_t value) {
        KernelParams params(def);
        for (const auto &param : def.params)
          params.set(param.name, param.name == shared.name ? value : param.whole.empty() ? 4 : 1);
        std::vector<int64_t> list;
        KernelArgs args;
        EXPECT_TRUE(params.finish(&list).isOk()) << def.name;
        return KernelArgs::read(def, list, &args);
      };
      EXPECT_TRUE(read(1).isOk() && read(4).isOk()) << def.name << " " << shared.name;
      for (int64_t value : {0, 2, 3, 5, -1})
        EXPECT_EQ(read(value).message(), "kernel " + std::string(def.name) + ": expected " + std::string(shared.name) +
                                             " to be 1 or 4, as " + std::string(shared.whole) +
                                             " is; got: " + std::to_string(value));
    }
}

// For every kernel, the sizes in its definition are those of the code. The types here are those in which no weight is
// packed.
TEST(KernelSet, BuffersHaveTheBytesThatKernelsTouch) {
  const std::map<std::string_view, int64_t> numbers = {{"index_dtype", int64_t(fb::DType::i32)},
                                                       {"batch", 3},
                                                       {"batch_a", 3},
                                                       {"batch_b", 1},
                                                       {"m", 5},
                                                       {"n", 7},
                                                       {"k", 11},
                                                       {"transpose_a", 0},
                                                       {"transpose_b", 1},
                                                       {"packed_b", 0},
                                                       {"packed_w", 0},
                                                       {"ic", 4},
                                                       {"oc", 6},
                                                       {"groups", 2},
                                                       {"c", 3},
                                                       {"count_pad", 0},
                                                       {"rank", 2},
                                                       {"outer", 2},
                                                       {"rows", 5},
                                                       {"inner", 3},
                                                       {"indices", 4},
                                                       {"batch", 2},
                                                       {"combine", 1},
                                                       {"count", 4},
                                                       {"smallest", 1},
                                                       {"extent", 9},
                                                       {"first", 0},
                                                       {"end", 10},
                                                       {"other", -100},
                                                       {"heads", 2},
                                                       {"columns", 6},
                                                       {"depth", 4},
                                                       {"width", 3},
                                                       {"causal", 0},
                                                       {"scale", 0},                 // the bits of 0.0
                                                       {"rate", 0x3fe0000000000000}, // the bits of 0.5
                                                       {"fill", 0},
                                                       {"mask_dtype", int64_t(fb::DType::boolean)},
                                                       {"mask_batch", 1},
                                                       {"mask_heads", 2},
                                                       {"mask_rows", 5},
                                                       {"mask_columns", 1}};
  const std::map<std::string_view, std::vector<int64_t>> lists = {
      {"in", {6, 8}},       {"out", {4, 7}},     {"kernel", {3, 2}},  {"stride", {1, 1}},
      {"dilation", {1, 1}}, {"pad_low", {0, 0}}, {"pad_high", {0, 0}}};
  for (fb::DType number : {fb::DType::f64, fb::DType::f16})
    for (const KernelDef &def : kernelDefs()) {
      // check_index takes only integers. Only convolutions of f32 with channels last add a bias.
      bool isBias = def.name.find("convolution_bias") == 0;
      fb::DType type = def.name == "check_index" ? fb::DType::i64 : isBias ? fb::DType::f32 : number;
      KernelParams params(def);
      for (const auto &param : def.params)
        if (param.isList)
          params.set(param.name, lists.at(param.name));
        else if (param.name == "dtype" || param.name == "out_dtype")
          params.set(param.name, int64_t(type));
        else if (param.name == "sum_dtype")
          params.set(param.name, int64_t(type == fb::DType::f64 ? type : fb::DType::f32));
        else if (param.name == "channels_last")
          params.set(param.name, isBias);
        else if (isBias && (param.name == "ic" || param.name == "oc"))
          params.set(param.name, 16); // with these, packed weights have no padding
        else if (isBias && param.name == "groups")
          params.set(param.name, 1);
        else
          params.set(param.name, numbers.at(param.name));
      std::vector<int64_t> list;
      KernelArgs args;
      std::unique_ptr<HostKernel> kernel;
      ASSERT_TRUE(params.finish(&list).isOk()) << def.name;
      ASSERT_TRUE(KernelArgs::read(def, list, &args).isOk()) << def.name;
      Status made = makeHostKernel(args, 1, &kernel);
      ASSERT_TRUE(made.isOk()) << made.message();
      std::vector<size_t> touched = kernel->bufferBytes();
      ASSERT_EQ(touched.size(), def.buffers.size()) << def.name;
      for (size_t i = 0; i < touched.size(); ++i) {
        uint64_t bytes = 0;
        ASSERT_TRUE(args.bufferBytes(i, &bytes).isOk()) << def.name;
        if (def.buffers[i].name != "scratch")
          EXPECT_EQ(bytes, touched[i]) << def.name << " " << def.buffers[i].name;
      }
    }
}

TEST(KernelSet, BuffersOfNoSizeAreNamed) {
  const KernelDef &def = *findKernelDef("take"); // dtype index_dtype outer rows inner indices
  auto refusal = [&](std::vector<int64_t> list) {
    KernelArgs args;
    EXPECT_TRUE(KernelArgs::read(def, list, &args).isOk());
    uint64_t bytes = 0;
    return args.bufferBytes(0, &bytes).message();
  };
  int64_t huge = int64_t{1} << 40;
  EXPECT_NE(refusal({0, 4, 1, -3, 1, 1}).find("a positive rows; got: -3"), std::string::npos);
  EXPECT_NE(refusal({99, 4, 1, 3, 1, 1}).find("a positive dtype; got: 0"), std::string::npos);
  EXPECT_NE(refusal({0, 4, huge, huge, 1, 1}).find("no such buffer as its parameters make 'x'"), std::string::npos);
}

TEST(KernelSet, MissingAndUnknownParametersAreNamed) {
  std::vector<int64_t> list;
  KernelParams params(*findKernelDef("argmax"));
  params.set("dtype", 0).set("outer", 1).set("extent", 2);
  EXPECT_NE(params.finish(&list).message().find("inner is not set"), std::string::npos);
  params.set("inner", 1).set("colour", 3);
  EXPECT_NE(params.finish(&list).message().find("no parameter colour"), std::string::npos);
}

} // namespace
