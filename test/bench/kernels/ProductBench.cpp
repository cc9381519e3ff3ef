// Measures products with a constant right operand: as it is stored, and packed once into the library's own format.
//
//   ProductBench [ROUNDS]        threads: OMP_NUM_THREADS
//
// Each round runs both forms in turn. The time is processor time, summed over all threads, so that other work on the
// machine matters only by its use of the caches. Prints GFLOP/s of the median round, the ratio of the times packed /
// stored (the median of the rounds' ratios; below 1 means that packed is faster), and the number of products after
// which packing has saved time. Checks nothing.
#include "kernels/common/host/HostKernel.h"

#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <random>

using namespace cleave::rt;

namespace {

struct Product {
  const char *name;
  int64_t m, n, k;
};

// BERT-base at 128 tokens, GPT-2 124M at 256 tokens, a Llama of 8 billion parameters at 64 tokens, a classifier at one
// sample.
constexpr Product kProducts[] = {{"BERT-base projection", 128, 768, 768},
                                 {"BERT-base expand", 128, 3072, 768},
                                 {"BERT-base contract", 128, 768, 3072},
                                 {"GPT-2 attention", 256, 2304, 768},
                                 {"GPT-2 expand", 256, 3072, 768},
                                 {"GPT-2 contract", 256, 768, 3072},
                                 {"Llama projection", 64, 4096, 4096},
                                 {"classifier, one sample", 1, 4096, 2048},
                                 {"one token of BERT's expand", 1, 3072, 768}};

using Buffer = std::unique_ptr<std::byte, decltype(&std::free)>;

Buffer allocate(size_t bytes) {
  Buffer buffer{static_cast<std::byte *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)), &std::free};
  std::memset(buffer.get(), 0, bytes);
  return buffer;
}

void fill(std::byte *bytes, int64_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::generate_n(reinterpret_cast<float *>(bytes), count, [&] { return uniform(random); });
}

// A kernel with its own buffers.
class Launch {
public:
  Launch(const char *name, const Product &p, bool transposed, bool packed) {
    const KernelDef *def = findKernelDef(name);
    KernelParams params(*def);
    auto f32 = static_cast<int64_t>(fb::DType::f32);
    params.set("dtype", f32).set("out_dtype", f32).set("batch", 1).set("batch_a", 1).set("batch_b", 1);
    params.set("m", p.m).set("n", p.n).set("k", p.k).set("transpose_a", 0).set("transpose_b", transposed);
    params.set("packed_b", packed);
    std::vector<int64_t> list;
    KernelArgs args;
    Status status = params.finish(&list);
    if (status.isOk())
      status = KernelArgs::read(*def, list, &args);
    if (status.isOk())
      status = makeHostKernel(args, omp_get_max_threads(), &kernel);
    if (!status.isOk()) {
      std::fprintf(stderr, "%s: %s\n", name, status.message().c_str());
      std::exit(1);
    }
    for (size_t bytes : kernel->bufferBytes())
      buffers.push_back(allocate(bytes));
    for (const Buffer &buffer : buffers)
      addresses.push_back(buffer.get());
  }

  double run() {
    std::clock_t begin = std::clock();
    if (!kernel->run(addresses.data()).isOk())
      std::exit(1);
    return std::max(static_cast<double>(std::clock() - begin), 1.0) / CLOCKS_PER_SEC;
  }

  std::unique_ptr<HostKernel> kernel;
  std::vector<Buffer> buffers;
  std::vector<void *> addresses;
};

double medianOf(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void measure(const Product &p, bool transposed, int rounds) {
  Launch stored("matmul", p, transposed, false), packed("matmul", p, transposed, true);
  Launch packer("matmul_pack_b", p, transposed, true);
  fill(stored.buffers[0].get(), p.m * p.k);
  fill(packed.buffers[0].get(), p.m * p.k);
  fill(stored.buffers[1].get(), p.n * p.k);
  fill(packer.buffers[0].get(), p.n * p.k);
  double packing = packer.run();
  std::memcpy(packed.buffers[1].get(), packer.buffers[0].get(), static_cast<size_t>(p.n * p.k) * sizeof(float));
  std::vector<double> plain, ours, ratios;
  for (int i = 0; i < rounds; ++i) {
    plain.push_back(stored.run());
    ours.push_back(packed.run());
    ratios.push_back(ours.back() / plain.back());
  }
  double giga = 2e-9 * static_cast<double>(p.m * p.n * p.k);
  double saved = medianOf(plain) - medianOf(ours);
  std::printf(
      "%-28s %4ld x %4ld x %4ld %s  stored %6.1f  packed %6.1f GFLOP/s, ratio %.2f, paid for by %.1f products\n",
      p.name, p.m, p.n, p.k, transposed ? "[n, k]" : "[k, n]", giga / medianOf(plain), giga / medianOf(ours),
      medianOf(ratios), saved > 0 ? packing / saved : std::numeric_limits<double>::infinity());
  std::fflush(stdout);
}

} // namespace

int main(int count, char **arguments) {
  int rounds = count > 1 ? std::atoi(arguments[1]) : 201;
  for (const Product &product : kProducts)
    for (bool transposed : {false, true})
      measure(product, transposed, std::max(rounds, 1));
}
