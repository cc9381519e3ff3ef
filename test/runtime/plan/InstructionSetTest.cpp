// Everything generated from the .def files agrees with itself.
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Opcode.h"

#include "kernels/common/host/Registry.h"

#include <gtest/gtest.h>
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

TEST(KernelSet, ParametersGoThereAndBack) {
  for (const KernelDef &def : kernelDefs()) {
    KernelParams params(def);
    int64_t next = 10;
    for (const auto &param : def.params)
      if (param.name == "rank")
        params.set("rank", 2);
      else if (param.isList)
        params.set(param.name, {next, next + 1}), next += 2;
      else
        params.set(param.name, next++);
    std::vector<int64_t> list;
    ASSERT_TRUE(params.finish(&list).isOk()) << def.name;
    KernelArgs args;
    ASSERT_TRUE(KernelArgs::read(def, list, &args).isOk()) << def.name;
    next = 10;
    for (const auto &param : def.params)
      if (param.isList) {
        EXPECT_EQ(args.list(param.name), (std::vector<int64_t>{next, next + 1})) << def.name << " " << param.name;
        next += 2;
      } else if (param.name != "rank") {
        EXPECT_EQ(args[param.name], next++) << def.name << " " << param.name;
      }
    list.push_back(0);
    EXPECT_FALSE(KernelArgs::read(def, list, &args).isOk());
  }
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
