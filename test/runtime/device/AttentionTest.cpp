// Attention and its gradient compared with loops in float64: shapes that fill blocks and shapes that do not, masks,
// causal, dropout, all types, and the same bits with any number of threads.
#include "runtime/base/Philox.h"
#include "test/runtime/device/KernelHarness.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace cleave::rt;
using namespace cleave::rt::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Mask { None, Added, Kept };

struct Attention {
  int64_t batch, heads, rows, columns, depth, width;
  bool causal = false;
  Mask mask = Mask::None;
  std::vector<int64_t> sizes = {1, 1, 1, 1}; // sizes of the mask
  double fill = -kInfinity;
  double scale = 0.3;
  double rate = 0; // rate of dropout; 0: none

  // Numbers that a double holds exactly.
  static constexpr uint64_t kSeed = 0x1234567890abc, kStream = (uint64_t{7} << 32) + 5;
  // Heads may begin at any element number. Some begin beyond 2^34, where the counter has an upper half.
  uint64_t firstOf(int64_t item) const { return static_cast<uint64_t>(item) * 0x4000000ff + 6; }
  // The factor by which dropout multiplies a probability.
  double factorOf(int64_t item, int64_t row, int64_t column) const {
    if (rate == 0)
      return 1;
    uint64_t index = firstOf(item) + static_cast<uint64_t>(row * columns + column), group = index / 4;
    Philox4 words = philox4x32({static_cast<uint32_t>(kSeed), static_cast<uint32_t>(kSeed >> 32)},
                               {static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32),
                                static_cast<uint32_t>(kStream), static_cast<uint32_t>(kStream >> 32)});
    return philoxUniform(words[index % 4]) >= static_cast<float>(rate) ? 1 / (1 - rate) : 0;
  }
  // The input buffers of dropout.
  std::vector<Values> dropoutInputs() const {
    Values first;
    for (int64_t item = 0; item < items(); ++item)
      first.push_back(static_cast<double>(firstOf(item)));
    return {{static_cast<double>(kSeed)}, {static_cast<double>(kStream)}, first};
  }
  std::string kernel(bool gradient) const {
    return std::string("attention") + (mask == Mask::None ? "" : "_masked") + (rate > 0 ? "_dropout" : "") +
           (gradient ? "_grad" : "");
  }

  int64_t items() const { return batch * heads; }
  size_t maskCount() const { return static_cast<size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]); }
  size_t maskAt(int64_t item, int64_t row, int64_t column) const {
    int64_t at = 0, index[] = {item / heads, item % heads, row, column};
    for (int d = 0; d < 4; ++d)
      at = at * sizes[d] + (sizes[d] == 1 ? 0 : index[d]);
    return static_cast<size_t>(at);
  }
};

struct Tensors {
  Values q, k, v, dy, mask;
  Values y, maximum, sum, delta, dq, dk, dv;
};

Tensors inputsOf(const Attention &a, fb::DType dtype) {
  auto count = [&](int64_t rows, int64_t size) { return static_cast<size_t>(a.items() * rows * size); };
  Tensors t;
  t.q = rounded(dtype, noise(count(a.rows, a.depth), 1)), t.k = rounded(dtype, noise(count(a.columns, a.depth), 2));
  t.v = rounded(dtype, noise(count(a.columns, a.width), 3)), t.dy = rounded(dtype, noise(count(a.rows, a.width), 4));
  t.mask = noise(a.mask == Mask::None ? 0 : a.maskCount(), 5);
  if (a.mask == Mask::Kept)
    for (double &keep : t.mask)
      keep = keep > -0.5;
  return t;
}

// Scores of one row. `replaced` marks scores that the mask replaces.
Values scoresOf(const Attention &a, const Tensors &t, int64_t item, int64_t row, std::vector<bool> *replaced) {
  Values scores(static_cast<size_t>(a.columns));
  replaced->assign(scores.size(), false);
  for (int64_t c = 0; c < a.columns; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < a.depth; ++i)
      sum += t.q[static_cast<size_t>((item * a.rows + row) * a.depth + i)] *
             t.k[static_cast<size_t>((item * a.columns + c) * a.depth + i)];
    sum *= a.scale;
    if (a.mask == Mask::Added)
      sum += t.mask[a.maskAt(item, row, c)];
    if (a.mask == Mask::Kept && !t.mask[a.maskAt(item, row, c)])
      sum = a.fill, (*replaced)[static_cast<size_t>(c)] = true;
    if (a.causal && c > row)
      sum = -kInfinity;
    scores[static_cast<size_t>(c)] = sum;
  }
  return scores;
}

void computeRow(const Attention &a, Tensors &t, int64_t item, int64_t row) {
  std::vector<bool> replaced;
  Values p = scoresOf(a, t, item, row, &replaced);
  double maximum = *std::max_element(p.begin(), p.end()), sum = 0, delta = 0;
  for (double &score : p)
    sum += score = std::exp(score - maximum);
  t.maximum.push_back(maximum), t.sum.push_back(sum);
  auto at = [&](int64_t i) { return static_cast<size_t>((item * a.rows + row) * a.width + i); };
  auto atColumn = [&](int64_t c, int64_t size, int64_t i) {
    return static_cast<size_t>((item * a.columns + c) * size + i);
  };
  for (int64_t i = 0; i < a.width; ++i) {
    double y = 0;
    for (int64_t c = 0; c < a.columns; ++c)
      y += p[static_cast<size_t>(c)] / sum * a.factorOf(item, row, c) * t.v[atColumn(c, a.width, i)];
    t.y.push_back(y);
    delta += y * t.dy[at(i)];
  }
  t.delta.push_back(delta);
  for (int64_t c = 0; c < a.columns; ++c) {
    double probability = p[static_cast<size_t>(c)] / sum, factor = a.factorOf(item, row, c), gradient = 0;
    for (int64_t i = 0; i < a.width; ++i) {
      t.dv[atColumn(c, a.width, i)] += probability * factor * t.dy[at(i)];
      gradient += t.dy[at(i)] * t.v[atColumn(c, a.width, i)];
    }
    gradient = gradient * factor - delta;
    gradient *= replaced[static_cast<size_t>(c)] ? 0 : probability * a.scale;
    for (int64_t i = 0; i < a.depth; ++i) {
      auto query = static_cast<size_t>((item * a.rows + row) * a.depth + i);
      t.dq[query] += gradient * t.k[atColumn(c, a.depth, i)];
      t.dk[atColumn(c, a.depth, i)] += gradient * t.q[query];
    }
  }
}

Tensors referenceOf(const Attention &a, fb::DType dtype) {
  Tensors t = inputsOf(a, dtype);
  t.dq.resize(t.q.size()), t.dk.resize(t.k.size()), t.dv.resize(t.v.size());
  for (int64_t item = 0; item < a.items(); ++item)
    for (int64_t row = 0; row < a.rows; ++row)
      computeRow(a, t, item, row);
  return t;
}

int64_t bitsOfDouble(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Runs a kernel with all its results. Booleans are bytes.
std::vector<Values> runAll(const Attention &a, bool gradient, fb::DType dtype, int threads, std::vector<Values> inputs,
                           std::vector<size_t> results, std::vector<fb::DType> types) {
  fb::DType sums = dtype == fb::DType::f64 ? dtype : fb::DType::f32;
  std::string name = a.kernel(gradient);
  const KernelDef *def = findKernelDef(name);
  KernelParams params(*def);
  params.set("dtype", int64_t(dtype)).set("sum_dtype", int64_t(sums)).set("batch", a.batch).set("heads", a.heads);
  params.set("rows", a.rows).set("columns", a.columns).set("depth", a.depth).set("width", a.width);
  params.set("causal", a.causal).set("scale", bitsOfDouble(a.scale));
  if (a.mask != Mask::None) {
    params.set("mask_dtype", int64_t(a.mask == Mask::Kept ? fb::DType::boolean : sums))
        .set("fill", bitsOfDouble(a.fill));
    const char *names[] = {"mask_batch", "mask_heads", "mask_rows", "mask_columns"};
    for (int d = 0; d < 4; ++d)
      params.set(names[d], a.sizes[static_cast<size_t>(d)]);
  }
  if (a.rate > 0)
    params.set("rate", bitsOfDouble(a.rate));
  std::vector<int64_t> list;
  KernelArgs args;
  std::unique_ptr<HostKernel> kernel;
  EXPECT_TRUE(params.finish(&list).isOk());
  EXPECT_TRUE(KernelArgs::read(*def, list, &args).isOk());
  Status made = makeHostKernel(args, threads, &kernel);
  EXPECT_TRUE(made.isOk()) << made.message();
  std::vector<size_t> bytes = kernel->bufferBytes();
  std::vector<void *> buffers;
  for (size_t size : bytes) {
    buffers.push_back(std::aligned_alloc(64, (size + 127) / 64 * 64));
    std::memset(buffers.back(), 0xff, size); // NaN, also in the scratch
  }
  for (size_t i = 0; i < bytes.size() - 1; ++i) {
    uint64_t stated = 0;
    EXPECT_TRUE(args.bufferBytes(i, &stated).isOk());
    EXPECT_EQ(stated, bytes[i]) << name << " buffer " << i;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (types[i] == fb::DType::boolean)
      for (size_t j = 0; j < inputs[i].size(); ++j)
        static_cast<unsigned char *>(buffers[i])[j] = inputs[i][j] != 0;
    else
      store(types[i], inputs[i], buffers[i]);
  EXPECT_TRUE(kernel->run(buffers.data()).isOk());
  EXPECT_TRUE(kernel->run(buffers.data()).isOk());
  std::vector<Values> loaded;
  for (size_t i = 0; i < results.size(); ++i)
    loaded.push_back(load(types[inputs.size() + i], buffers[inputs.size() + i], results[i]));
  for (void *buffer : buffers)
    std::free(buffer);
  return loaded;
}

void addMaskAndDropout(const Attention &a, const Tensors &t, fb::DType sums, std::vector<Values> *inputs,
                       std::vector<fb::DType> *types) {
  if (a.mask != Mask::None) {
    inputs->push_back(t.mask);
    types->push_back(a.mask == Mask::Kept ? fb::DType::boolean : sums);
  }
  if (a.rate > 0)
    for (const Values &input : a.dropoutInputs()) {
      inputs->push_back(input);
      types->push_back(fb::DType::i64);
    }
}

std::vector<Values> runForward(const Attention &a, const Tensors &t, fb::DType dtype, int threads) {
  fb::DType sums = dtype == fb::DType::f64 ? dtype : fb::DType::f32;
  std::vector<Values> inputs = {t.q, t.k, t.v};
  std::vector<fb::DType> types = {dtype, dtype, dtype};
  addMaskAndDropout(a, t, sums, &inputs, &types);
  types.insert(types.end(), {dtype, sums, sums});
  return runAll(a, false, dtype, threads, inputs, {t.y.size(), t.sum.size(), t.sum.size()}, types);
}

std::vector<Values> runBackward(const Attention &a, const Tensors &t, fb::DType dtype, int threads) {
  fb::DType sums = dtype == fb::DType::f64 ? dtype : fb::DType::f32;
  std::vector<Values> inputs = {t.q, t.k, t.v};
  std::vector<fb::DType> types = {dtype, dtype, dtype};
  addMaskAndDropout(a, t, sums, &inputs, &types);
  inputs.insert(inputs.end(), {t.dy, t.maximum, t.sum, t.delta});
  types.insert(types.end(), {dtype, sums, sums, sums, dtype, dtype, dtype});
  return runAll(a, true, dtype, threads, inputs, {t.q.size(), t.k.size(), t.v.size()}, types);
}

std::vector<Attention> shapes() {
  std::vector<Attention> all;
  for (bool causal : {false, true}) {
    all.push_back({2, 3, 64, 64, 32, 32, causal});
    all.push_back({1, 2, 130, 130, 64, 64, causal});
    all.push_back({2, 1, 7, 7, 5, 3, causal});
    all.push_back({1, 1, 65, 200, 17, 40, causal}); // more columns than rows
    all.push_back({1, 1, 200, 65, 8, 128, causal}); // and fewer
    all.push_back({1, 1, 1, 1, 1, 1, causal});
    all.push_back({1, 2, 330, 330, 16, 16, causal});
    for (Mask mask : {Mask::Added, Mask::Kept})
      for (double fill : {-1e4, -3.4028234663852886e38})
        for (std::vector<int64_t> sizes : std::vector<std::vector<int64_t>>{
                 {2, 3, 70, 90}, {2, 1, 1, 90}, {1, 1, 70, 90}, {1, 3, 70, 1}, {1, 1, 1, 1}, {2, 3, 70, 1}})
          all.push_back({2, 3, 70, 90, 12, 20, causal, mask, sizes, fill});
  }
  std::vector<Attention> dropping;
  for (double rate : {0.1, 0.75})
    for (Attention a : all)
      if (a.rows > 1 && (a.mask == Mask::None || a.sizes[0] == 2)) {
        a.rate = rate;
        dropping.push_back(a);
      }
  all.insert(all.end(), dropping.begin(), dropping.end());
  return all;
}

double boundOf(fb::DType dtype) {
  return dtype == fb::DType::f64 ? 1e-14 : dtype == fb::DType::f32 ? 1e-6 : dtype == fb::DType::f16 ? 6e-4 : 5e-3;
}

TEST(Attention, MatchesFloat64) {
  for (fb::DType dtype : {fb::DType::f32, fb::DType::f64, fb::DType::bf16, fb::DType::f16})
    for (const Attention &a : shapes()) {
      Tensors t = referenceOf(a, dtype);
      SCOPED_TRACE(std::string(fb::EnumNameDType(dtype)) + " rows " + std::to_string(a.rows) + " columns " +
                   std::to_string(a.columns) + " causal " + std::to_string(a.causal) + " mask " +
                   std::to_string(int(a.mask)) + " fill " + std::to_string(a.fill) + " rate " + std::to_string(a.rate));
      std::vector<Values> forward = runForward(a, t, dtype, 2);
      EXPECT_LE(relativeError(forward[0], t.y), boundOf(dtype));
      double statistics = dtype == fb::DType::f64 ? 1e-14 : 1e-6; // the inputs are exact in every type
      EXPECT_LE(relativeError(forward[1], t.maximum), statistics);
      EXPECT_LE(relativeError(forward[2], t.sum), statistics);
      std::vector<Values> backward = runBackward(a, t, dtype, 2);
      if (a.rows == 1) // the gradient of a single score is 0, so only rounding errors would be compared
        continue;
      for (size_t i = 0; i < 3; ++i) // scores are rounded twice, because both passes compute them
        EXPECT_LE(relativeError(backward[i], *std::array{&t.dq, &t.dk, &t.dv}[i]), 3 * boundOf(dtype)) << i;
    }
}

// A row without any column. If the fill is infinite, the result is NaN, as is a softmax of only -inf. If the fill is a
// number, the result is the mean of all values.
TEST(Attention, ARowWithoutColumns) {
  for (double fill : {-kInfinity, -1e9}) {
    Attention a = {1, 1, 3, 80, 8, 8, false, Mask::Kept, {1, 1, 3, 80}, fill};
    Tensors t = inputsOf(a, fb::DType::f32);
    std::fill(t.mask.begin(), t.mask.end(), 1.0);
    std::fill(t.mask.begin() + 80, t.mask.begin() + 160, 0.0);
    t.y.resize(24), t.sum.resize(3);
    std::vector<Values> got = runForward(a, t, fb::DType::f32, 1);
    for (int i = 0; i < 8; ++i) {
      EXPECT_FALSE(std::isnan(got[0][static_cast<size_t>(i)]) || std::isnan(got[0][static_cast<size_t>(16 + i)]));
      double mean = 0;
      for (int c = 0; c < 80; ++c)
        mean += t.v[static_cast<size_t>(c * 8 + i)] / 80;
      double value = got[0][static_cast<size_t>(8 + i)];
      if (std::isinf(fill))
        EXPECT_TRUE(std::isnan(value));
      else
        EXPECT_NEAR(value, mean, 1e-6);
    }
  }
}

// Masked columns at the beginning do not affect the columns after them. Here the first block has no column for any row.
TEST(Attention, BlocksWithoutColumns) {
  for (double fill : {-kInfinity, -3.4028234663852886e38}) {
    Attention a = {1, 1, 70, 200, 8, 8, false, Mask::Kept, {1, 1, 1, 200}, fill};
    Tensors t = inputsOf(a, fb::DType::f32);
    for (size_t c = 0; c < 200; ++c)
      t.mask[c] = c >= 130 && c % 3;
    t.dq.resize(t.q.size()), t.dk.resize(t.k.size()), t.dv.resize(t.v.size());
    for (int64_t row = 0; row < a.rows; ++row)
      computeRow(a, t, 0, row);
    EXPECT_LE(relativeError(runForward(a, t, fb::DType::f32, 1)[0], t.y), 1e-6);
    std::vector<Values> backward = runBackward(a, t, fb::DType::f32, 1);
    EXPECT_LE(relativeError(backward[0], t.dq), 3e-6);
    EXPECT_LE(relativeError(backward[1], t.dk), 3e-6);
    EXPECT_LE(relativeError(backward[2], t.dv), 1e-6);
  }
}

// v is 1 in one column and 0 elsewhere. So a result is 0 or 1 / (1 - rate), which shows the position of each random
// number and on which side of the bound it is.
TEST(Attention, DropsThePhiloxNumbersBelowTheRate) {
  for (int64_t columns : {1, 2, 3, 4, 66, 67, 128})
    for (double rate : {1e-9, 0.1, 0.5, 1 - 0x1p-24}) {
      Attention a = {1, 2, 65, columns, 1, 1, true};
      a.rate = rate;
      Tensors t = inputsOf(a, fb::DType::f64);
      for (int64_t column = 0; column < columns; ++column) {
        std::fill(t.k.begin(), t.k.end(), 0.0), std::fill(t.v.begin(), t.v.end(), 0.0);
        for (int64_t item = 0; item < 2; ++item)
          t.v[static_cast<size_t>(item * columns + column)] = 1;
        t.y.resize(130), t.sum.resize(130);
        Values y = runForward(a, t, fb::DType::f64, 1)[0];
        for (int64_t item = 0; item < 2; ++item)
          for (int64_t row = column; row < 65; ++row)
            ASSERT_NEAR(y[static_cast<size_t>(item * 65 + row)],
                        a.factorOf(item, row, column) / static_cast<double>(std::min(row + 1, columns)),
                        1e-14 / (1 - rate))
                << columns << " columns, row " << row << " column " << column << " rate " << rate;
      }
    }
}

TEST(Attention, ThreadsChangeNoBit) {
  for (double rate : {0.0, 0.2}) {
    Attention a = {1, 3, 700, 700, 24, 40, rate == 0};
    a.rate = rate;
    Tensors t = referenceOf(a, fb::DType::f32);
    EXPECT_EQ(runForward(a, t, fb::DType::f32, 1), runForward(a, t, fb::DType::f32, 3));
    EXPECT_EQ(runBackward(a, t, fb::DType::f32, 1), runBackward(a, t, fb::DType::f32, 3));
  }
}

TEST(Attention, RefusesWhatIsWrong) {
  size_t bytes = 0;
  // dtype sum_dtype batch heads rows columns depth width causal scale
  std::vector<int64_t> good = {0, 0, 1, 2, 3, 4, 5, 6, 1, bitsOfDouble(0.5)};
  for (const char *name : {"attention", "attention_grad"}) {
    EXPECT_TRUE(hostScratchBytes(name, good, 1, &bytes).isOk());
    EXPECT_GT(bytes, 0u);
    for (auto [position, value] :
         {std::pair<size_t, int64_t>{0, 4}, {0, 99}, {1, 1}, {2, 0}, {4, -1}, {6, 1ll << 60}}) {
      std::vector<int64_t> bad = good;
      bad[position] = value;
      EXPECT_FALSE(hostScratchBytes(name, bad, 1, &bytes).isOk()) << position << " " << value;
    }
  }
  // dtype sum_dtype mask_dtype batch heads rows columns depth width causal scale mask... fill
  std::vector<int64_t> masked = {0, 0, 0, 1, 2, 3, 4, 5, 6, 1, bitsOfDouble(0.5), 1, 2, 3, 4, 0};
  EXPECT_TRUE(hostScratchBytes("attention_masked", masked, 1, &bytes).isOk());
  for (auto [position, value] : {std::pair<size_t, int64_t>{2, 4}, {11, 2}, {12, 3}, {13, 4}, {14, 5}, {14, 0}}) {
    std::vector<int64_t> bad = masked;
    bad[position] = value;
    EXPECT_FALSE(hostScratchBytes("attention_masked", bad, 1, &bytes).isOk()) << position << " " << value;
  }
  for (const char *name : {"attention_dropout", "attention_dropout_grad"})
    for (auto [rate, isGood] :
         {std::pair{0.1, true}, {0.0, false}, {1.0, false}, {-0.5, false}, {std::nan(""), false}}) {
      std::vector<int64_t> dropping = good;
      dropping.push_back(bitsOfDouble(rate));
      EXPECT_EQ(hostScratchBytes(name, dropping, 1, &bytes).isOk(), isGood) << rate;
    }
}

} // namespace
