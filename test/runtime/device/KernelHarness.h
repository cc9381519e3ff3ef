// Runs one host kernel on float64 values. Converts them to the kernel's type, runs the kernel with buffers of exactly
// the bytes that it asks for (so that sanitizers find an access to any other byte), and converts the results back.
#ifndef CLEAVE_TEST_RUNTIME_DEVICE_KERNELHARNESS_H
#define CLEAVE_TEST_RUNTIME_DEVICE_KERNELHARNESS_H

#include "kernels/common/host/HostKernel.h"
#include "runtime/base/Half.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace cleave::rt::test {

using Values = std::vector<double>;

inline Values sine(size_t count, double seed) {
  Values values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = std::sin(seed + 1.7 * static_cast<double>(i));
  return values;
}

// Normally distributed numbers that f32 holds exactly.
inline Values noise(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Values values(count);
  for (double &value : values)
    value = static_cast<double>(normal(generator));
  return values;
}

// The norm of the difference, divided by the norm of `expected`.
inline double relativeError(const Values &got, const Values &expected) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(error / norm);
}

inline void store(fb::DType dtype, const Values &values, void *target) {
  for (size_t i = 0; i < values.size(); ++i)
    switch (dtype) {
    case fb::DType::f32:
      static_cast<float *>(target)[i] = static_cast<float>(values[i]);
      break;
    case fb::DType::f64:
      static_cast<double *>(target)[i] = values[i];
      break;
    case fb::DType::bf16:
      static_cast<BFloat16 *>(target)[i] = BFloat16(static_cast<float>(values[i]));
      break;
    case fb::DType::f16:
      static_cast<Float16 *>(target)[i] = Float16(static_cast<float>(values[i]));
      break;
    case fb::DType::i64:
      static_cast<int64_t *>(target)[i] = static_cast<int64_t>(values[i]);
      break;
    case fb::DType::i32:
      static_cast<int32_t *>(target)[i] = static_cast<int32_t>(values[i]);
      break;
    default:
      ADD_FAILURE() << "type";
      return;
    }
}

inline Values load(fb::DType dtype, const void *source, size_t count) {
  Values values(count);
  for (size_t i = 0; i < count; ++i)
    switch (dtype) {
    case fb::DType::f32:
      values[i] = static_cast<const float *>(source)[i];
      break;
    case fb::DType::f64:
      values[i] = static_cast<const double *>(source)[i];
      break;
    case fb::DType::bf16:
      values[i] = static_cast<const BFloat16 *>(source)[i];
      break;
    case fb::DType::f16:
      values[i] = static_cast<const Float16 *>(source)[i];
      break;
    case fb::DType::i64:
      values[i] = static_cast<double>(static_cast<const int64_t *>(source)[i]);
      break;
    case fb::DType::i32:
      values[i] = static_cast<const int32_t *>(source)[i];
      break;
    default:
      ADD_FAILURE() << "type";
      break;
    }
  return values;
}

struct Operand {
  fb::DType dtype;
  Values values; // of an input; of an output: its size and its previous contents
};

// Runs the kernel twice, and returns the values of all operands.
inline std::vector<Values> runOnOperands(const char *name, const KernelParams &params,
                                         const std::vector<Operand> &operands, int threads, Status *status = nullptr) {
  std::vector<int64_t> list;
  KernelArgs args;
  std::unique_ptr<HostKernel> kernel;
  Status made = params.finish(&list);
  if (made.isOk())
    made = KernelArgs::read(*findKernelDef(name), list, &args);
  if (made.isOk())
    made = makeHostKernel(args, threads, &kernel);
  EXPECT_TRUE(made.isOk()) << made.message();
  if (!made.isOk())
    return {};
  std::vector<size_t> bytes = kernel->bufferBytes();
  std::vector<void *> buffers;
  for (size_t size : bytes)
    buffers.push_back(std::aligned_alloc(64, (size + 127) / 64 * 64));
  for (size_t i = 0; i < operands.size(); ++i) {
    EXPECT_EQ(operands[i].values.size() * dtypeSize(operands[i].dtype), bytes[i]) << name << " buffer " << i;
    store(operands[i].dtype, operands[i].values, buffers[i]);
  }
  if (args.def().hasScratch()) {
    size_t planned = 1;
    EXPECT_TRUE(hostScratchBytes(name, list, threads, &planned).isOk());
    EXPECT_EQ(planned, bytes.back());
    std::memset(buffers.back(), 0xff, bytes.back()); // scratch may contain anything. Here it has NaN
  }
  Status ran = kernel->run(buffers.data());
  if (ran.isOk())
    ran = kernel->run(buffers.data()); // the second run must not depend on the first
  if (status)
    *status = ran;
  else
    EXPECT_TRUE(ran.isOk()) << ran.message();
  std::vector<Values> results;
  for (size_t i = 0; i < operands.size(); ++i)
    results.push_back(load(operands[i].dtype, buffers[i], operands[i].values.size()));
  for (void *buffer : buffers)
    std::free(buffer);
  return results;
}

// Runs the kernel, and returns only the values of the last operand.
inline Values runKernel(const char *name, const KernelParams &params, const std::vector<Operand> &operands, int threads,
                        Status *status = nullptr) {
  std::vector<Values> all = runOnOperands(name, params, operands, threads, status);
  return all.empty() ? Values() : all.back();
}

// The values after rounding to the type.
inline Values rounded(fb::DType dtype, const Values &values) {
  std::vector<double> storage(values.size());
  store(dtype, values, storage.data());
  return load(dtype, storage.data(), values.size());
}

inline void expectClose(const Values &got, const Values &expected, double tolerance, const std::string &what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance) << what << " element " << i;
}

inline double toleranceOf(fb::DType dtype) {
  return dtype == fb::DType::f64 ? 1e-13 : dtype == fb::DType::f32 ? 2e-5 : dtype == fb::DType::f16 ? 2e-2 : 1.5e-1;
}

} // namespace cleave::rt::test

#endif
