// Library kernels of random shapes take no more than OutsideMemory.h says: the worst quarter of each kind, on average.
#include "kernels/common/host/HostKernel.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/OutsideMemory.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <malloc.h>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

using namespace cleave::rt;

namespace {

// Resident bytes of code that is in no file: what libraries have made.
size_t madeCode() {
  std::ifstream maps("/proc/self/smaps");
  size_t sum = 0;
  bool isCode = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end, offset, inode, kib;
    char permissions[8], device[16], path[2] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %15s %lu %1s", &begin, &end, permissions, &offset, device, &inode,
                    path) >= 6)
      isCode = std::strchr(permissions, 'x') && path[0] == '\0';
    else if (isCode && std::sscanf(line.c_str(), "Rss: %lu", &kib) == 1)
      sum += kib << 10;
  }
  return sum;
}

size_t taken() {
  struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd + madeCode();
}

class Shapes {
public:
  // Parameters of a random shape, as text in `shape`; empty where there is no such shape.
  std::vector<int64_t> make(const KernelDef &def, fb::DType dtype, bool isInParts) {
    KernelParams params(def);
    auto set = [&](const char *name, std::vector<int64_t> values) { params.set(name, std::move(values)); };
    bool packs = def.name.find("_pack_") != std::string_view::npos;
    set("dtype", {static_cast<int64_t>(dtype)});
    if (def.name.substr(0, 6) == "matmul") {
      int64_t batch = pick({1, 1, 1, 8, 24});
      set("out_dtype", {static_cast<int64_t>(dtype)});
      set("batch", {batch});
      set("batch_a", {pick({1, batch})});
      set("batch_b", {pick({1, batch})});
      set("m", {pick({1, 2, 7, 16, 64, 333})});
      set("n", {pick({1, 10, 16, 64, 100, 512})});
      set("k", {isInParts ? pick({1030, 1300, 3072}) : pick({1, 3, 16, 64, 300})});
      set("transpose_a", {pick({0, 1})});
      set("transpose_b", {pick({0, 1})});
      set("packed_b", {packs ? 1 : pick({0, 1})});
    } else {
      setConvolution(set);
      if (def.name == "convolution" || packs)
        set("packed_w", {packs ? 1 : pick({0, 1})});
    }
    std::vector<int64_t> list;
    return params.finish(&list).isOk() ? list : std::vector<int64_t>();
  }

  int64_t pick(const std::vector<int64_t> &values) { return values[random() % values.size()]; }

private:
  template <typename Set> void setConvolution(Set set) {
    int64_t rank = pick({1, 2, 2, 2, 2, 3}), groups = 1;
    int64_t ic = pick({1, 3, 8, 16, 17, 32, 64, 96}), oc = pick({1, 8, 10, 16, 32, 72, 128});
    if (pick({0, 0, 1}) == 1)
      oc = groups = ic;
    else if (ic % 4 == 0 && oc % 4 == 0 && pick({0, 0, 1}) == 1)
      groups = 4;
    int64_t kernel = pick({1, 3, 3, 5, 7}), stride = pick({1, 1, 2}), dilation = pick({1, 1, 1, 2});
    int64_t pad = kernel / 2 * dilation, in = rank == 3 ? pick({4, 8}) : pick({7, 14, 28, 56});
    int64_t out = (in + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
    auto repeated = [&](int64_t value) { return std::vector<int64_t>(static_cast<size_t>(rank), value); };
    set("n", {pick({1, 2, 8})});
    set("ic", {ic});
    set("oc", {oc});
    set("groups", {groups});
    set("rank", {rank});
    set("in", repeated(in));
    set("out", repeated(out));
    set("kernel", repeated(kernel));
    set("stride", repeated(stride));
    set("dilation", repeated(dilation));
    set("pad_low", repeated(pad));
    set("pad_high", repeated(pad));
  }

  std::mt19937 random{1};
};

} // namespace

TEST(KernelMemory, TheWorstShapesAreWithinTheBound) {
  std::vector<std::unique_ptr<HostKernel>> kept;
  std::map<std::tuple<std::string_view, fb::DType, uint64_t>, std::vector<size_t>> sizes; // the last is the bound
  for (bool isInParts : {false, true}) {
    Shapes shapes;
    for (const KernelDef &def : kernelDefs())
      for (fb::DType dtype : {fb::DType::f32, fb::DType::bf16, fb::DType::f16, fb::DType::f64})
        for (int i = 0; def.kind == fb::KernelKind::library && i < 24; ++i) {
          if (isInParts && def.name.substr(0, 6) != "matmul")
            continue;
          std::vector<int64_t> list = shapes.make(def, dtype, isInParts);
          ASSERT_FALSE(list.empty()) << def.name;
          KernelArgs args;
          ASSERT_TRUE(KernelArgs::read(def, list, &args).isOk());
          size_t before = taken();
          std::unique_ptr<HostKernel> kernel;
          if (!makeHostKernel(args, 2, &kernel).isOk())
            continue;
          kept.push_back(std::move(kernel));
          if (kept.size() > 4) // the first ones begin the library
            sizes[{def.name, dtype, libraryKernelBytes(args)}].push_back(taken() - before);
        }
  }
  for (auto &[kind, bytes] : sizes) {
    auto [name, dtype, bound] = kind;
    ASSERT_GE(bytes.size(), 12u) << name << ": too few of these shapes have a kernel";
    std::sort(bytes.rbegin(), bytes.rend());
    size_t quarter = bytes.size() / 4;
    size_t worst = std::accumulate(bytes.begin(), bytes.begin() + static_cast<long>(quarter), size_t{0}) / quarter;
    std::cout << name << " " << fb::EnumNameDType(dtype) << ": worst quarter " << worst / 1024 << " KiB, largest "
              << bytes.front() / 1024 << " KiB, bound " << bound / 1024 << " KiB\n";
    EXPECT_LE(worst, bound) << name << " " << fb::EnumNameDType(dtype);
    EXPECT_LE(bytes.front(), 2 * bound) << name << " " << fb::EnumNameDType(dtype);
  }
  // Bounds that are far above what is taken would say nothing.
  for (auto &[kind, bytes] : sizes) {
    auto [name, dtype, bound] = kind;
    if (dtype == fb::DType::f32 && name.find("_pack_") == std::string_view::npos) {
      EXPECT_GT(4 * bytes.front(), bound) << name;
    }
  }
}
