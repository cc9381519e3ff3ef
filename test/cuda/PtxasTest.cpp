// Tests how the output of ptxas is read and used.
#include "compiler/Codegen/CUDA/Ptxas.h"

#include "gtest/gtest.h"

using namespace cleave;

namespace {

constexpr llvm::StringLiteral kPtx = ".version 8.0\n.target sm_90\n\n.visible .entry k0(\n)\n{\n\tret;\n}\n"
                                     "\t// .globl k1\n.visible .entry k1(\n)\n{\n\tadd.f32 %f1;\n\tret;\n}\n";

TEST(Ptxas, ItsErrorNamesTheKernel) {
  EXPECT_EQ(ptxasComplaint("ptxas /tmp/a.ptx, line 13; error   : Unknown symbol '%f1'\n"
                           "ptxas fatal   : Ptx assembly aborted due to errors\n",
                           kPtx),
            "kernel 'k1': line 13 of its PTX; error   : Unknown symbol '%f1'");
  EXPECT_EQ(ptxasComplaint("ptxas /tmp/a.ptx, line 7; error   : Bad\n", kPtx), "kernel 'k0': line 7 of its PTX; error   : Bad");
  EXPECT_EQ(ptxasComplaint("ptxas /tmp/a.ptx, line 1; fatal   : Unsupported .version 8.0; current version is '7.8'\n", kPtx),
            "line 1 of its PTX; fatal   : Unsupported .version 8.0; current version is '7.8'");
  EXPECT_EQ(ptxasComplaint("ptxas info    : 0 bytes gmem\nptxas error   : Entry function 'k0' uses too much shared data\n", kPtx),
            "ptxas error   : Entry function 'k0' uses too much shared data");
  EXPECT_EQ(ptxasComplaint("", kPtx), "it says nothing");
  EXPECT_EQ(ptxasComplaint("Segmentation fault (core dumped)", kPtx), "Segmentation fault (core dumped)");
}

TEST(Ptxas, ItsLogHasTheResources) {
  auto found = parsePtxasLog("ptxas info    : 0 bytes gmem\n"
                             "ptxas info    : Compiling entry function 'k0' for 'sm_90'\n"
                             "ptxas info    : Function properties for k0\n"
                             "    24 bytes stack frame, 16 bytes spill stores, 12 bytes spill loads\n"
                             "ptxas info    : Used 44 registers, used 1 barriers, 24 bytes cumulative stack size, 256 bytes smem\n"
                             "ptxas info    : Compiling entry function 'k1' for 'sm_90'\n"
                             "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                             "ptxas info    : Used 8 registers\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found["k0"].registers, 44u);
  EXPECT_EQ(found["k0"].sharedBytes, 256u);
  EXPECT_EQ(found["k0"].spillStoreBytes, 16u);
  EXPECT_EQ(found["k0"].spillLoadBytes, 12u);
  EXPECT_EQ(found["k0"].stackBytes, 24u);
  EXPECT_EQ(found["k1"].registers, 8u);
  EXPECT_EQ(found["k1"].sharedBytes, 0u);
}

TEST(Ptxas, EntriesAreTakenApart) {
  auto parts = splitEntries(kPtx);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts["k0"], ".version 8.0\n.target sm_90\n\n.visible .entry k0(\n)\n{\n\tret;\n}\n");
  EXPECT_EQ(parts["k1"], ".version 8.0\n.target sm_90\n\n.visible .entry k1(\n)\n{\n\tadd.f32 %f1;\n\tret;\n}\n");
}

TEST(Ptxas, FormsForSm90a) {
  constexpr llvm::StringLiteral kBoth = ".version 8.0\n.target sm_80\n.address_size 64\n\n"
                                        ".visible .entry k0(\n)\n{\n\tmma.sync;\n\tret;\n}\n"
                                        ".visible .entry k1(\n)\n{\n\tret;\n}\n"
                                        ".visible .entry k0_sm_90a(\n\t.param .b8 k0_sm_90a_param_0[8]\n)\n{\n"
                                        "\ttrap; exit; //not sm_90a\n\t//sm_90a: wgmma.fence.sync.aligned;\n\tret;\n}\n";
  EXPECT_EQ(textForSm90a(kBoth, {"k1"}), "");
  EXPECT_EQ(textForSm90a(kPtx, {"k0"}), "");
  EXPECT_EQ(textForSm90a(kBoth, {"k0", "k1"}),
            ".version 8.0\n.target sm_90a\n.address_size 64\n\n"
            ".visible .entry k0(\n\t.param .b8 k0_param_0[8]\n)\n{\n\twgmma.fence.sync.aligned;\n\tret;\n}\n"
            ".visible .entry k1(\n)\n{\n\tret;\n}\n");
}

} // namespace
