// A library's workspace inside of a plan's scratch, at any alignment of the scratch.
#include "runtime/device/cuda/Workspace.h"

#include <gtest/gtest.h>

using namespace cleave::rt;

namespace {

TEST(WorkspaceTest, LiesInItsScratchOnAMultiple) {
  for (uintptr_t begin = kScratchAlignment; begin <= 4 * kWorkspaceAlignment; begin += kScratchAlignment)
    for (size_t wanted : {size_t{0}, size_t{1}, size_t{1000}, size_t{4096}}) {
      Address scratch;
      scratch.base = reinterpret_cast<std::byte *>(begin);
      scratch.bytes = wanted + kWorkspaceAlignment - kScratchAlignment;
      Workspace workspace(scratch);
      auto at = reinterpret_cast<uintptr_t>(workspace.at({}));
      EXPECT_EQ(workspace.bytes(), wanted);
      EXPECT_EQ(at % kWorkspaceAlignment, 0u);
      EXPECT_GE(at, begin);
      EXPECT_LE(at + workspace.bytes(), begin + scratch.bytes);
    }
}

// If the scratch is not larger than the bytes that alignment may skip, the workspace is empty.
TEST(WorkspaceTest, MayHaveNoBytes) {
  for (size_t bytes : {0u, 64u, 191u, 192u}) {
    Address scratch;
    scratch.bytes = bytes;
    EXPECT_EQ(Workspace(scratch).bytes(), 0u);
  }
}

// The plan's scratch has room for a kernel's workspace.
TEST(WorkspaceTest, IsPlanned) {
  const KernelDef &def = *findKernelDef("matmul");
  KernelParams params(def);
  std::vector<int64_t> list;
  params.set("dtype", static_cast<int64_t>(fb::DType::f32)).set("out_dtype", static_cast<int64_t>(fb::DType::f32));
  params.set("batch", 1).set("batch_a", 1).set("batch_b", 1).set("m", 64).set("n", 32).set("k", 16);
  params.set("transpose_a", 0).set("transpose_b", 0).set("packed_b", 0);
  ASSERT_TRUE(params.finish(&list).isOk());
  KernelArgs args;
  ASSERT_TRUE(KernelArgs::read(def, list, &args).isOk());
  uint64_t bytes = 0;
  ASSERT_TRUE(cudaScratchBytes(args, &bytes).isOk());
  Address scratch;
  scratch.bytes = bytes;
  EXPECT_EQ(Workspace(scratch).bytes(), 64u * 32 * 8 * 4);
}

} // namespace
