#include "compiler/Calibration/Probes.h"
#include "compiler/Calibration/Stopwatch.h"
#include "kernels/common/host/HostKernel.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <omp.h>

namespace cleave::calibration {

using namespace rt;

namespace {

constexpr double kBudget = 4e-4; // seconds for one size

fb::DType dtypeOf(const std::string &type) {
  for (fb::DType one : fb::EnumValuesDType())
    if (type == fb::EnumNameDType(one))
      return one;
  return fb::DType::f32;
}

// Memory for the buffers of one kernel at a time. Its values are neither zero nor denormal, because these could change
// a kernel's speed. Results of one kernel may be operands of the next.
class Arena {
public:
  void *take(size_t bytes) {
    size_t begin = used_;
    used_ += (bytes + 127) / 64 * 64;
    return begin < kBytes && used_ <= kBytes ? static_cast<std::byte *>(data_) + begin : nullptr;
  }
  void reset() { used_ = 0; }

  static Arena &get() {
    static Arena arena;
    return arena;
  }

private:
  Arena() : data_(std::aligned_alloc(64, kBytes)) {
    auto *words = static_cast<uint16_t *>(data_);
    for (size_t i = 0; data_ && i < kBytes / 2; ++i) // 0.5 to 1 as bf16, and normal in every type
      words[i] = static_cast<uint16_t>(0x3f00 + i % 128);
  }

  static constexpr size_t kBytes = size_t{256} << 20;
  void *data_;
  size_t used_ = 0;
};

using Params = std::vector<std::pair<std::string, std::vector<int64_t>>>;

// Measures one run with operands in the caches, as far as they fit.
Status timeKernel(const std::string &name, const Params &values, unsigned threads, double *seconds) {
  const KernelDef *def = findKernelDef(name);
  KernelParams params(*def);
  for (const auto &[key, value] : values)
    params.set(key, value);
  std::vector<int64_t> list;
  KernelArgs args;
  CLEAVE_TRY(params.finish(&list));
  CLEAVE_TRY(KernelArgs::read(*def, list, &args));
  omp_set_num_threads(static_cast<int>(threads));
  std::unique_ptr<HostKernel> kernel;
  CLEAVE_TRY(makeHostKernel(args, static_cast<int>(threads), &kernel));
  Arena::get().reset();
  std::vector<void *> pointers;
  for (size_t bytes : kernel->bufferBytes()) {
    pointers.push_back(Arena::get().take(bytes));
    if (!pointers.back())
      return {Code::OutOfMemory, "kernel " + name + " needs more memory than calibrating gives it"};
  }
  CLEAVE_TRY(kernel->run(pointers.data()));
  *seconds = quartileSeconds([&] { (void)kernel->run(pointers.data()); }, threads, kBudget);
  return Status::ok();
}

// Calls `visit` with the sizes of each point of the grid. The last axis is the fastest.
Status forEachPlace(const RateTable &table, const std::function<Status(const std::vector<double> &)> &visit) {
  std::vector<size_t> at(table.axes.size(), 0);
  for (;;) {
    std::vector<double> sizes;
    for (size_t i = 0; i < at.size(); ++i)
      sizes.push_back(table.axes[i].values[at[i]]);
    CLEAVE_TRY(visit(sizes));
    size_t axis = at.size();
    while (axis > 0 && ++at[axis - 1] == table.axes[axis - 1].values.size())
      at[--axis] = 0;
    if (axis == 0)
      return Status::ok();
  }
}

int64_t whole(double size) { return static_cast<int64_t>(size); }

} // namespace

bool computesNatively(const std::string &type) { return hasNativeProducts(dtypeOf(type)); }

// In a batch, products of more than this many operations are as fast as a single one.
constexpr double kLargeProduct = 2.0 * 256 * 256 * 256;

Status measureProducts(const std::string &type, unsigned threads, std::vector<RateTable> *tables) {
  auto dtype = static_cast<int64_t>(dtypeOf(type));
  for (const char *variant : {"nn", "nt", "tn", "packed"}) {
    std::vector<double> sizes = {4, 16, 64, 256, 1024};
    bool isPacked = std::string(variant) == "packed";
    RateTable table{"matmul", type, variant, {{"batch", {1, 16}}, {"m", sizes}, {"n", sizes}, {"k", sizes}}, {}};
    if (isPacked)
      table.axes[0].values = {1};
    size_t single = sizes.size() * sizes.size() * sizes.size();
    auto measure = [&](const std::vector<double> &at) -> Status {
      double flops = 2 * at[0] * at[1] * at[2] * at[3], seconds = 0;
      if (at[0] > 1 && flops / at[0] > kLargeProduct) {
        table.rates.push_back(table.rates[table.rates.size() - single]);
        return Status::ok();
      }
      int64_t batch = whole(at[0]);
      Params params = {{"dtype", {dtype}},       {"out_dtype", {dtype}},
                       {"batch", {batch}},       {"batch_a", {batch}},
                       {"batch_b", {batch}},     {"m", {whole(at[1])}},
                       {"n", {whole(at[2])}},    {"k", {whole(at[3])}},
                       {"transpose_a", {variant[0] == 't'}}, {"transpose_b", {variant[1] == 't'}},
                       {"packed_b", {isPacked}}};
      CLEAVE_TRY(timeKernel("matmul", params, threads, &seconds));
      table.rates.push_back(flops / seconds);
      return Status::ok();
    };
    CLEAVE_TRY(forEachPlace(table, measure));
    tables->push_back(std::move(table));
  }
  return Status::ok();
}

// The parameters of a square image, with a square window of stride 1 that keeps the image's size.
static Params windowParams(int64_t side, int64_t kernel) {
  std::vector<int64_t> two = {side, side}, pad(2, kernel / 2);
  return {{"rank", {2}},       {"in", two},          {"out", two},    {"kernel", {kernel, kernel}},
          {"stride", {1, 1}},  {"dilation", {1, 1}}, {"pad_low", pad}, {"pad_high", pad}};
}

Status measureConvolutions(const std::string &type, unsigned threads, std::vector<RateTable> *tables) {
  auto dtype = static_cast<int64_t>(dtypeOf(type));
  std::vector<double> pixels = {4, 16, 64, 256, 1024}, windows = {1, 9};
  for (const char *kernel : {"convolution", "convolution_input_grad", "convolution_weight_grad"})
    for (const char *variant : {"plain", "depthwise"}) {
      bool isDeep = std::string(variant) == "depthwise";
      RateTable table{kernel,
                      type,
                      variant,
                      {{"in", isDeep ? std::vector<double>{1} : std::vector<double>{3, 16, 64, 256}},
                       {"out", isDeep ? std::vector<double>{16, 64, 256} : std::vector<double>{16, 64, 256}},
                       {"pixels", pixels},
                       {"window", windows}},
                      {}};
      auto measure = [&](const std::vector<double> &at) -> Status {
        int64_t out = whole(at[1]), in = isDeep ? out : whole(at[0]);
        double flops = 2 * at[0] * at[1] * at[2] * at[3], seconds = 0;
        constexpr double kMost = 1 << 28; // operations of one run: 2 ms
        int64_t samples = std::clamp<int64_t>(whole(kMost / flops), 1, 8);
        Params params = windowParams(whole(std::sqrt(at[2]) + 0.5), whole(std::sqrt(at[3]) + 0.5));
        params.insert(params.end(), {{"dtype", {dtype}}, {"n", {samples}}, {"ic", {in}}, {"oc", {out}},
                                     {"groups", {isDeep ? out : 1}}});
        CLEAVE_TRY(timeKernel(kernel, params, threads, &seconds));
        table.rates.push_back(flops * static_cast<double>(samples) / seconds);
        return Status::ok();
      };
      CLEAVE_TRY(forEachPlace(table, measure));
      tables->push_back(std::move(table));
    }
  return Status::ok();
}

// Windows have stride 2, so that they do not overlap much.
Status measurePools(const std::string &type, unsigned threads, std::vector<RateTable> *tables) {
  constexpr int64_t kSamples = 8, kChannels = 32;
  for (const char *kernel : {"max_pool", "max_pool_grad", "avg_pool", "avg_pool_grad"}) {
    RateTable table{kernel, type, "plain", {{"pixels", {16, 256, 1024}}, {"window", {4, 9}}}, {}};
    bool isMean = kernel[0] == 'a';
    auto measure = [&](const std::vector<double> &at) -> Status {
      int64_t out = whole(std::sqrt(at[0]) + 0.5), side = whole(std::sqrt(at[1]) + 0.5), pad = side / 2;
      std::vector<int64_t> from(2, 2 * (out - 1) + side - 2 * pad), padding(2, pad);
      Params params = {{"dtype", {static_cast<int64_t>(dtypeOf(type))}},
                       {"n", {kSamples}},
                       {"c", {kChannels}},
                       {"rank", {2}},
                       {"in", from},
                       {"out", {out, out}},
                       {"kernel", {side, side}},
                       {"stride", {2, 2}},
                       {"dilation", {1, 1}},
                       {"pad_low", padding},
                       {"pad_high", padding}};
      if (isMean)
        params.push_back({"count_pad", {1}});
      double seconds = 0;
      CLEAVE_TRY(timeKernel(kernel, params, threads, &seconds));
      table.rates.push_back(static_cast<double>(kSamples * kChannels) * at[0] * at[1] / seconds);
      return Status::ok();
    };
    CLEAVE_TRY(forEachPlace(table, measure));
    tables->push_back(std::move(table));
  }
  return Status::ok();
}

Status measureAttention(const std::string &type, unsigned threads, double *rate) {
  constexpr int64_t kHeads = 8, kRows = 256, kDepth = 64;
  double scale = 0.125, seconds = 0;
  int64_t bits;
  std::memcpy(&bits, &scale, sizeof bits);
  Params params = {{"dtype", {static_cast<int64_t>(dtypeOf(type))}},
                   {"sum_dtype", {static_cast<int64_t>(fb::DType::f32)}},
                   {"batch", {1}},
                   {"heads", {kHeads}},
                   {"rows", {kRows}},
                   {"columns", {kRows}},
                   {"depth", {kDepth}},
                   {"width", {kDepth}},
                   {"causal", {0}},
                   {"scale", {bits}}};
  CLEAVE_TRY(timeKernel("attention", params, threads, &seconds));
  *rate = 2.0 * kHeads * kRows * kRows * (kDepth + kDepth) / seconds;
  return Status::ok();
}

} // namespace cleave::calibration
