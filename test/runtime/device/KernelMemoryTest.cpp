// Tests that library kernels of random shapes take no more memory than OutsideMemory.h says.
//
// The gate draws a few shapes of each kind. KERNEL_MEMORY_SEED and KERNEL_MEMORY_COUNT select other shapes, or more.
// ONEDNN_MAX_CPU_ISA=AVX2 makes the kernels for a smaller processor.
#include "kernels/common/host/Dnnl.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/OutsideMemory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <malloc.h>
#include <map>
#include <random>
#include <tuple>

using namespace cleave::rt;

namespace {

// Resident bytes of executable memory without a file: code that libraries have generated.
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
  explicit Shapes(unsigned seed) : random(seed) {}

  // Parameters of a random shape. `shape` describes it, and is empty if there is no such shape.
  std::vector<int64_t> make(const KernelDef &def, fb::DType dtype, bool isInParts) {
    KernelParams params(def);
    auto set = [&](const char *name, std::vector<int64_t> values) { params.set(name, std::move(values)); };
    bool packs = def.name.find("_pack_") != std::string_view::npos;
    set("dtype", {static_cast<int64_t>(dtype)});
    if (def.name.substr(0, 6) == "matmul") {
      int64_t batch = pick({1, 1, 1, 8, 24});
      bool isGradient = def.name.substr(0, 16) == "matmul_bias_grad"; // one product, always of the same form
      auto setForm = [&](const char *name, int64_t value) {
        if (!isGradient)
          set(name, {value});
      };
      set("out_dtype", {static_cast<int64_t>(dtype)});
      setForm("batch", batch);
      setForm("batch_a", pick({1, batch}));
      setForm("batch_b", pick({1, batch}));
      set("m", {pick({1, 2, 7, 16, 64, 333, 2048, upTo(700)})}); // with 2048 rows, packing is worth it
      set("n", {pick({1, 10, 16, 64, 100, 512, upTo(900)})});
      set("k",
          {isInParts ? pick({1030, 1300, 3072, 32000, 1024 + upTo(4000)}) : pick({1, 3, 16, 64, 300, upTo(1024)})});
      setForm("transpose_a", pick({0, 1}));
      setForm("transpose_b", pick({0, 1}));
      setForm("packed_b", packs ? 1 : pick({0, 1}));
    } else {
      setConvolution(set);
      if (def.name == "convolution" || packs)
        set("packed_w", {packs ? pick({1, 2}) : pick({0, 1, 2})});
    }
    std::vector<int64_t> list;
    return params.finish(&list).isOk() ? list : std::vector<int64_t>();
  }

  int64_t pick(const std::vector<int64_t> &values) { return values[random() % values.size()]; }

private:
  template <typename Set> void setConvolution(Set set) {
    int64_t rank = pick({1, 2, 2, 2, 2, 3}), groups = 1;
    int64_t ic = channels(), oc = channels(), kind = pick({0, 0, 1, 2});
    if (kind == 1) {
      groups = ic;
      oc = pick({ic, ic, 2 * ic});
    } else if (kind == 2) {
      groups = pick({2, 3, 4, 8});
      ic = (ic + groups - 1) / groups * groups;
      oc = (oc + groups - 1) / groups * groups;
    }
    std::map<std::string, std::vector<int64_t>> window;
    bool isCube = pick({0, 0, 0, 1}) == 0;
    for (int64_t dim = 0; dim < rank; ++dim) {
      if (dim == 0 || !isCube)
        drawDim(rank);
      window["in"].push_back(dim_.in);
      window["out"].push_back(dim_.out);
      window["kernel"].push_back(dim_.kernel);
      window["stride"].push_back(dim_.stride);
      window["dilation"].push_back(dim_.dilation);
      window["pad_low"].push_back(dim_.low);
      window["pad_high"].push_back(dim_.high);
    }
    set("n", {pick({1, 2, 3, 8})});
    set("ic", {ic});
    set("oc", {oc});
    set("groups", {groups});
    set("rank", {rank});
    for (const auto &[name, values] : window)
      set(name.c_str(), values);
  }

  int64_t upTo(int64_t most) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most)); }
  int64_t channels() { return pick({1, 2, 3, 8, 10, 16, 17, 32, 48, 64, 72, 96, 128, 256, 512, upTo(300)}); }

  // Draws a dimension in which the window fits.
  void drawDim(int64_t rank) {
    do {
      dim_.kernel = pick({1, 1, 2, 3, 3, 3, 5, 7, upTo(11)}), dim_.stride = pick({1, 1, 1, 2, 2, 3, 4});
      dim_.dilation = pick({1, 1, 1, 2, 3}), dim_.low = pick({0, dim_.kernel / 2 * dim_.dilation});
      dim_.high = std::max<int64_t>(dim_.low - pick({0, 0, 1}), 0);
      dim_.in = rank == 3 ? pick({4, 8, 16})
                          : pick({1, 4, 7, 14, 17, 28, 32, 56, 112, 224, upTo(300), rank == 1 ? 1500 : 320});
      dim_.out = dim_.in + dim_.low + dim_.high - dim_.dilation * (dim_.kernel - 1) - 1;
    } while (dim_.out < 0);
    dim_.out = dim_.out / dim_.stride + 1;
  }

  struct {
    int64_t in, out, kernel, stride, dilation, low, high;
  } dim_ = {};
  std::mt19937 random;
};

// A number from the environment.
unsigned given(const char *name, unsigned otherwise) {
  const char *text = std::getenv(name);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

} // namespace

TEST(KernelMemory, EveryShapeIsWithinItsBound) {
  struct Kind {
    size_t count = 0;
    double closest = 0;
  };
  std::vector<std::unique_ptr<HostKernel>> kept;
  std::map<std::tuple<std::string_view, fb::DType, bool>, Kind> kinds;
  unsigned seed = given("KERNEL_MEMORY_SEED", 1), count = given("KERNEL_MEMORY_COUNT", 24);
  kept.reserve(4 * 2 * count * kernelDefs().size()); // it must not grow while kernels are measured
  for (bool isInParts : {false, true}) {
    Shapes shapes(seed);
    for (const KernelDef &def : kernelDefs())
      for (fb::DType dtype : {fb::DType::f32, fb::DType::bf16, fb::DType::f16, fb::DType::f64})
        for (unsigned i = 0; def.kind == fb::KernelKind::library && i < count; ++i) {
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
          if (kept.size() <= 4) // the first ones initialize the library
            continue;
          size_t bytes = taken() - before;
          uint64_t bound = libraryKernelBytes(args, DnnlBuilder::hasAvx512());
          Kind &kind = kinds[{def.name, dtype, isInParts}];
          ++kind.count;
          kind.closest = std::max(kind.closest, static_cast<double>(bytes) / static_cast<double>(bound));
          EXPECT_LE(bytes, bound) << def.name << " " << fb::EnumNameDType(dtype) << " " << testing::PrintToString(list);
        }
  }
  for (auto &[key, kind] : kinds) {
    auto [name, dtype, isInParts] = key;
    std::cout << name << " " << fb::EnumNameDType(dtype) << (isInParts ? " in parts" : "") << ": " << kind.count
              << " shapes, of its bound one takes " << static_cast<int>(100 * kind.closest) << " %\n";
    EXPECT_GE(2 * kind.count, count) << name << ": too few of these shapes have a kernel";
    // Bounds far above the memory that is used would be worth nothing. AVX2 has fewer and smaller variants than
    // AVX-512.
    bool isOurs = name.substr(0, 6) == "matmul" && !DnnlBuilder::hasAvx512();
    if (dtype == fb::DType::f32 && name.find("_pack_") == std::string_view::npos && !isOurs) {
      EXPECT_GT(kind.closest, 0.06) << name;
    }
  }
}
