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

// The bytes of a workspace that the plan's scratch has room for, of a product in one type.
size_t planned(const char *kernel, fb::DType type, int64_t m, int64_t n) {
  const KernelDef &def = *findKernelDef(kernel);
  KernelParams params(def);
  std::vector<int64_t> list;
  params.set("dtype", static_cast<int64_t>(type)).set("out_dtype", static_cast<int64_t>(type));
  params.set("batch", 1).set("batch_a", 1).set("batch_b", 1).set("m", m).set("n", n).set("k", 16);
  params.set("transpose_a", 0).set("transpose_b", 0).set("packed_b", 0);
  EXPECT_TRUE(params.finish(&list).isOk());
  KernelArgs args;
  EXPECT_TRUE(KernelArgs::read(def, list, &args).isOk());
  uint64_t bytes = 0;
  EXPECT_TRUE(cudaScratchBytes(args, &bytes).isOk());
  Address scratch;
  scratch.bytes = bytes;
  return Workspace(scratch).bytes();
}

TEST(WorkspaceTest, IsPlanned) { EXPECT_EQ(planned("matmul", fb::DType::f32, 64, 32), 64u * 32 * 8 * 4); }

// A bias may have to be copied to its end, in whole pieces of 256 bytes (CudaMatmul.cpp).
TEST(WorkspaceTest, HasRoomForABias) {
  for (int64_t n : {int64_t{1}, int64_t{33}, int64_t{1000}, int64_t{1} << 24, (int64_t{1} << 25) + 1})
    EXPECT_GE(planned("matmul_bias", fb::DType::bf16, 1, n), (static_cast<size_t>(n) * 2 + 255) / 256 * 256) << n;
}

} // namespace
