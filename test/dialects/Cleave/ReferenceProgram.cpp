#include "test/dialects/Cleave/ReferenceProgram.h"

#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>

using namespace cleave;
using namespace cleave::test;

static const char *const kPipeline =
    "func.func(convert-cleave-to-linalg),canonicalize,cse,"
    "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},"
    "buffer-results-to-out-params{modify-public-functions=1},func.func(convert-linalg-to-loops),canonicalize,expand-strided-metadata,lower-affine,"
    "convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,finalize-memref-to-llvm,convert-arith-to-llvm,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},convert-cf-to-llvm,convert-index-to-llvm,convert-ub-to-llvm,"
    "reconcile-unrealized-casts";

mlir::MLIRContext &cleave::test::referenceContext() {
  static std::unique_ptr<mlir::MLIRContext> context = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    mlir::registerAllPasses();
    registerCleaveTransformsPasses();
    mlir::DialectRegistry registry;
    mlir::registerAllDialects(registry);
    mlir::registerAllExtensions(registry);
    mlir::registerBuiltinDialectTranslation(registry);
    mlir::registerLLVMDialectTranslation(registry);
    registry.insert<CleaveDialect>();
    auto made = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    made->loadDialect<CleaveDialect>();
    return made;
  }();
  return *context;
}

std::unique_ptr<ReferenceProgram> ReferenceProgram::compile(llvm::StringRef source) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &referenceContext());
  return module ? compile(*module) : nullptr;
}

std::unique_ptr<ReferenceProgram> ReferenceProgram::compile(mlir::ModuleOp module) {
  auto program = std::make_unique<ReferenceProgram>();
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    Signature &signature = program->signatures[function.getName().str()];
    for (mlir::Type type : function.getArgumentTypes())
      signature.inputs.push_back(llvm::cast<mlir::RankedTensorType>(type));
    for (mlir::Type type : function.getResultTypes())
      signature.results.push_back(llvm::cast<mlir::RankedTensorType>(type));
  }
  mlir::PassManager passes(module.getContext());
  if (mlir::failed(mlir::parsePassPipeline(kPipeline, passes)) || mlir::failed(passes.run(module)))
    return nullptr;
  mlir::ExecutionEngineOptions options;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::None;
  options.enableGDBNotificationListener = options.enablePerfNotificationListener = false;
  auto engine = mlir::ExecutionEngine::create(module, options);
  if (!engine) {
    llvm::errs() << "no engine: " << llvm::toString(engine.takeError()) << "\n";
    return nullptr;
  }
  program->engine = std::move(*engine);
  return program;
}

//===----------------------------------------------------------------------===//
// Numbers in and out
//===----------------------------------------------------------------------===//

template <typename T> static void write(const Array &values, char *bytes) {
  for (size_t i = 0; i < values.size(); ++i) {
    T value = static_cast<T>(values[i]);
    std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
  }
}
template <typename T> static void read(const char *bytes, Array &values) {
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
}

template <typename Visitor> static void visitElement(mlir::Type element, Visitor &&visit) {
  if (element.isF64())
    return visit(double());
  if (element.isF32())
    return visit(float());
  if (element.isInteger(64))
    return visit(int64_t());
  if (element.isInteger(32))
    return visit(int32_t());
  if (element.isInteger(1))
    return visit(uint8_t());
  llvm::report_fatal_error("the reference program has no numbers of this element type");
}

Arrays ReferenceProgram::run(const std::string &function, const Arrays &inputs) const {
  const Signature &signature = signatures.at(function);
  std::vector<std::vector<char>> buffers;
  for (auto *types : {&signature.inputs, &signature.results})
    for (mlir::RankedTensorType type : *types)
      buffers.emplace_back(type.getNumElements() * 8 + 64);
  for (size_t i = 0; i < inputs.size(); ++i)
    visitElement(signature.inputs[i].getElementType(),
                 [&](auto zero) { write<decltype(zero)>(inputs[i], buffers[i].data()); });

  std::vector<char *> pointers;
  std::vector<void *> packed;
  for (auto &buffer : buffers)
    pointers.push_back(buffer.data());
  for (char *&pointer : pointers)
    packed.push_back(&pointer);
  if (auto error = engine->invokePacked(function, packed))
    llvm::report_fatal_error(std::move(error));

  Arrays results;
  for (size_t i = 0; i < signature.results.size(); ++i) {
    results.emplace_back(signature.results[i].getNumElements());
    visitElement(signature.results[i].getElementType(),
                 [&](auto zero) { read<decltype(zero)>(pointers[inputs.size() + i], results[i]); });
  }
  return results;
}
