#include "test/compiler/Codegen/FunctionRunner.h"

#include "compiler/Codegen/Fusion/Passes.h"
#include "compiler/Codegen/Host/HostCodegen.h"
#include "test/runtime/TempDir.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

using namespace cleave;
using namespace cleave::test;
using namespace mlir;

static void decompose(ModuleOp module) {
  module.walk([](ComputeOpInterface op) {
    if (op.getComputeKind() != ComputeKind::Composite)
      return;
    OpBuilder builder(op);
    op->replaceAllUsesWith(op.decompose(builder, op->getOperands()));
    op->erase();
  });
}

static std::string outputOf(const std::string &command) {
  std::string text;
  FILE *pipe = popen(command.c_str(), "r");
  char buffer[256];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe))
    text += buffer;
  if (pipe && pclose(pipe) != 0)
    text += " (failed: " + command + ")";
  return text;
}

FunctionRunner::FunctionRunner(const std::string &text, const std::string &target) { compile(text, target); }

FunctionRunner::~FunctionRunner() {
  if (library)
    dlclose(library);
}

bool FunctionRunner::compile(const std::string &text, const std::string &targetName) {
  DialectRegistry registry;
  registry.insert<CleaveDialect, func::FuncDialect, arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
                  tensor::TensorDialect>();
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    error += diagnostic.str() + "\n";
    return success();
  });
  module = parseSourceString<ModuleOp>(text, context.get());
  if (!module)
    return false;
  decompose(*module);
  PassManager passes(context.get());
  passes.addNestedPass<func::FuncOp>(createFormKernels());
  passes.addPass(createNameKernels());
  if (failed(passes.run(*module)))
    return false;
  if (std::getenv("CLEAVE_TEST_PRINT"))
    module->dump();
  auto target = HostTarget::parse(targetName);
  auto code = target ? compileKernels(*module, *target) : llvm::Expected<HostObjects>(target.takeError());
  if (!code) {
    error += llvm::toString(code.takeError());
    return false;
  }
  if (!link(code->objects))
    return false;
  module->walk([&](KernelOp op) {
    void *symbol = dlsym(library, op.getLabel()->str().c_str());
    FailureOr<int64_t> extent = kernelExtent(op);
    if (!symbol || failed(extent))
      error += "kernel " + op.getLabel()->str() + " is missing\n";
    else
      kernels.push_back({op, reinterpret_cast<cleave_kernel_fn>(symbol), *extent, {}});
  });
  return error.empty();
}

bool FunctionRunner::link(const std::vector<std::string> &objects) {
  test::TempDir directory;
  std::string files;
  for (size_t i = 0; i < objects.size(); ++i)
    files += " " + directory.write(std::to_string(i) + ".o", objects[i]);
  undefined = outputOf("nm -u" + files + " | awk '/ U /{printf \"%s \", $2}'");
  std::string said = outputOf("cc -shared -o " + directory / "k.so" + files + " -lm 2>&1");
  library = dlopen((directory / "k.so").c_str(), RTLD_NOW);
  if (!library)
    error = said + dlerror();
  return library != nullptr;
}

void *FunctionRunner::bufferFor(Value value) {
  std::shared_ptr<void> &entry = memory[value];
  if (!entry) {
    size_t bytes = (byteSize(value.getType()) + 63) / 64 * 64 + 64;
    entry.reset(std::aligned_alloc(64, bytes), std::free);
    std::memset(entry.get(), 0x7b, bytes);
  }
  return entry.get();
}

std::vector<Bytes> FunctionRunner::run(const std::vector<Bytes> &inputs, int64_t pieces) {
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();
  memory.clear();
  for (auto [argument, bytes] : llvm::zip(function.getArguments(), inputs))
    std::memcpy(bufferFor(argument), bytes.data(), bytes.size());
  for (Kernel &kernel : kernels) {
    kernel.buffers.clear();
    for (Value input : kernel.op.getInputs())
      kernel.buffers.push_back(bufferFor(input));
    for (auto [index, result] : llvm::enumerate(kernel.op.getResults())) {
      int64_t tied = kernel.op.getTied() ? (*kernel.op.getTied())[index] : -1;
      if (tied >= 0) {
        bufferFor(kernel.op.getInputs()[tied]);
        memory[result] = memory[kernel.op.getInputs()[tied]];
      }
      kernel.buffers.push_back(tied >= 0 ? nullptr : bufferFor(result));
    }
    for (int64_t piece = pieces - 1; piece >= 0; --piece)
      kernel.function(kernel.buffers.data(), kernel.extent * piece / pieces, kernel.extent * (piece + 1) / pieces);
  }
  std::vector<Bytes> results;
  for (Value value : function.getBody().front().getTerminator()->getOperands()) {
    char *data = static_cast<char *>(bufferFor(value));
    results.emplace_back(data, data + byteSize(value.getType()));
  }
  return results;
}

void FunctionRunner::runKernel(const std::vector<void *> &buffers) {
  Kernel &kernel = kernels[0];
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();
  kernel.buffers.clear();
  for (Value input : kernel.op.getInputs())
    kernel.buffers.push_back(buffers[cast<BlockArgument>(input).getArgNumber()]);
  for (Value result : kernel.op.getResults()) {
    auto returned = function.getBody().front().getTerminator()->getOperands();
    kernel.buffers.push_back(
        buffers[function.getNumArguments() + std::distance(returned.begin(), llvm::find(returned, result))]);
  }
  kernel.function(kernel.buffers.data(), 0, kernel.extent);
}
