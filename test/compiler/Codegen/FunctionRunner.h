// Compiles a function of cleave ops as the driver does (decompose, form-kernels, name-kernels, compileKernels), links
// it and runs its kernels in order, so that results can be compared with plain loops.
//
//   FunctionRunner runner("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { ... }");
//   ASSERT_EQ(runner.getError(), "");
//   Bytes y = runner.run({toBytes(x)})[0];
#ifndef CLEAVE_TEST_COMPILER_CODEGEN_FUNCTIONRUNNER_H
#define CLEAVE_TEST_COMPILER_CODEGEN_FUNCTIONRUNNER_H

#include "dialects/Cleave/IR/Cleave.h"
#include "runtime/include/cleave/model.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cleave::test {

using Bytes = std::vector<char>;

template <typename T> Bytes toBytes(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T> std::vector<T> fromBytes(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class FunctionRunner {
public:
  explicit FunctionRunner(const std::string &text, const std::string &target = "host");
  ~FunctionRunner();

  const std::string &getError() const { return error; }
  size_t getNumKernels() const { return kernels.size(); }
  int64_t getExtent(size_t kernel) const { return kernels[kernel].extent; }
  // Undefined symbols of the code, space-separated.
  const std::string &getUndefined() const { return undefined; }
  // Runs the kernels. The iterations of every kernel are split into `pieces`, and the last piece runs first.
  std::vector<Bytes> run(const std::vector<Bytes> &inputs, int64_t pieces = 1);
  // Runs the only kernel of a function on the caller's buffers: the function's inputs, then its results.
  void runKernel(const std::vector<void *> &buffers);

private:
  struct Kernel {
    KernelOp op;
    cleave_kernel_fn function;
    int64_t extent;
    std::vector<void *> buffers;
  };
  bool compile(const std::string &text, const std::string &target);
  bool link(const std::vector<std::string> &objects);
  void *bufferFor(mlir::Value value);

  std::string error, undefined;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Kernel> kernels;
  llvm::DenseMap<mlir::Value, std::shared_ptr<void>> memory;
  void *library = nullptr;
};

} // namespace cleave::test

#endif
