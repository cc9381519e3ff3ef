// Measures generated kernels in GB/s, and compares them with the same loops compiled by the C++ compiler (-O3
// -march=native -ffast-math), on one core. Bytes are logical: each input and output counts once. Prints a table, and
// checks nothing.
#include "test/compiler/Codegen/FunctionRunner.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>

using namespace cleave::test;

// The best of several runs, in GB/s.
static double measure(double bytes, const std::function<void()> &run) {
  double best = 1e30;
  for (int i = 0; i < 12; ++i) {
    auto begin = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return bytes / best * 1e-9;
}

struct Case {
  const char *name, *text;
  std::vector<size_t> sizes; // floats in each buffer: inputs, then results
  std::function<void(float **)> reference;
};

static constexpr size_t kRows = 4096, kColumns = 768, kAll = kRows * kColumns;

static void gelu(float **b) {
  for (size_t r = 0; r < kRows; ++r)
    for (size_t c = 0; c < kColumns; ++c) {
      float v = b[0][r * kColumns + c] + b[1][c];
      b[2][r * kColumns + c] = 0.5f * v * (1 + std::tanh(0.7978846f * (v + 0.044715f * v * v * v)));
    }
}
static void softmax(float **b) {
  for (size_t r = 0; r < kRows; ++r) {
    float *x = b[0] + r * kColumns, *y = b[1] + r * kColumns, top = x[0], sum = 0;
    for (size_t c = 0; c < kColumns; ++c)
      top = std::max(top, x[c]);
    for (size_t c = 0; c < kColumns; ++c)
      sum += y[c] = std::exp(x[c] - top);
    for (size_t c = 0; c < kColumns; ++c)
      y[c] /= sum;
  }
}
static void normalize(float **b) {
  for (size_t r = 0; r < kRows; ++r) {
    float *x = b[0] + r * kColumns, *y = b[1] + r * kColumns, mean = 0, variance = 0;
    for (size_t c = 0; c < kColumns; ++c)
      mean += x[c];
    mean /= kColumns;
    for (size_t c = 0; c < kColumns; ++c)
      variance += (x[c] - mean) * (x[c] - mean);
    float scale = 1 / std::sqrt(variance / kColumns + 1e-5f);
    for (size_t c = 0; c < kColumns; ++c)
      y[c] = (x[c] - mean) * scale;
  }
}
static void columnSum(float **b) {
  std::fill_n(b[1], kColumns, 0.0f);
  for (size_t r = 0; r < kRows; ++r)
    for (size_t c = 0; c < kColumns; ++c)
      b[1][c] += b[0][r * kColumns + c];
}
static void transpose(float **b) {
  for (size_t c = 0; c < kColumns; ++c)
    for (size_t r = 0; r < kRows; ++r)
      b[1][c * kRows + r] = b[0][r * kColumns + c];
}

static const Case kCases[] = {
    {"gelu(x + b)",
     R"(func.func @f(%x: tensor<4096x768xf32>, %b: tensor<768xf32>) -> tensor<4096x768xf32> {
      %half = cleave.constant dense<0.5> : tensor<4096x768xf32>
      %one = cleave.constant dense<1.0> : tensor<4096x768xf32>
      %k = cleave.constant dense<0.7978846> : tensor<4096x768xf32>
      %a = cleave.constant dense<0.044715> : tensor<4096x768xf32>
      %bb = cleave.broadcast %b, [1] : tensor<768xf32> -> tensor<4096x768xf32>
      %v = cleave.add %x, %bb : tensor<4096x768xf32>
      %v2 = cleave.mul %v, %v : tensor<4096x768xf32>
      %v3 = cleave.mul %v2, %v : tensor<4096x768xf32>
      %0 = cleave.mul %v3, %a : tensor<4096x768xf32>
      %1 = cleave.add %0, %v : tensor<4096x768xf32>
      %2 = cleave.mul %1, %k : tensor<4096x768xf32>
      %3 = cleave.tanh %2 : tensor<4096x768xf32>
      %4 = cleave.add %3, %one : tensor<4096x768xf32>
      %5 = cleave.mul %v, %half : tensor<4096x768xf32>
      %6 = cleave.mul %5, %4 : tensor<4096x768xf32>
      return %6 : tensor<4096x768xf32> })",
     {kAll, kColumns, kAll},
     gelu},
    {"softmax",
     R"(func.func @f(%x: tensor<4096x768xf32>) -> tensor<4096x768xf32> {
      %0 = cleave.softmax %x, dim = 1 : tensor<4096x768xf32>
      return %0 : tensor<4096x768xf32> })",
     {kAll, kAll},
     softmax},
    {"normalize",
     R"(func.func @f(%x: tensor<4096x768xf32>) -> tensor<4096x768xf32> {
      %0, %1, %2 = cleave.normalize %x, [1], epsilon = 1.0e-5 : tensor<4096x768xf32> -> tensor<4096x768xf32>, tensor<4096xf32>, tensor<4096xf32>
      return %0 : tensor<4096x768xf32> })",
     {kAll, kAll},
     normalize},
    {"column sum",
     R"(func.func @f(%x: tensor<4096x768xf32>) -> tensor<768xf32> {
      %0 = cleave.reduce sum %x, [0] : tensor<4096x768xf32> -> tensor<768xf32>
      return %0 : tensor<768xf32> })",
     {kAll, kColumns},
     columnSum},
    {"transpose",
     R"(func.func @f(%x: tensor<4096x768xf32>) -> tensor<768x4096xf32> {
      %0 = cleave.transpose %x, [1, 0] : tensor<4096x768xf32> -> tensor<768x4096xf32>
      return %0 : tensor<768x4096xf32> })",
     {kAll, kAll},
     transpose},
};

int main() {
  std::printf("%-14s %10s %10s %8s\n", "kernel", "GB/s", "C++ GB/s", "ratio");
  for (const Case &test : kCases) {
    FunctionRunner runner(test.text);
    if (!runner.getError().empty() || runner.getNumKernels() != 1) {
      std::printf("%-14s %s\n", test.name, runner.getError().c_str());
      return 1;
    }
    std::vector<void *> buffers;
    double bytes = 0;
    for (size_t size : test.sizes) {
      auto *data = static_cast<float *>(std::aligned_alloc(64, size * sizeof(float)));
      for (size_t i = 0; i < size; ++i)
        data[i] = float(i % 1001) * 0.004f - 2;
      buffers.push_back(data);
      bytes += size * sizeof(float);
    }
    double ours = measure(bytes, [&] { runner.runKernel(buffers); });
    double theirs = measure(bytes, [&] { test.reference(reinterpret_cast<float **>(buffers.data())); });
    std::printf("%-14s %10.1f %10.1f %8.2f\n", test.name, ours, theirs, ours / theirs);
    for (void *buffer : buffers)
      std::free(buffer);
  }
}
