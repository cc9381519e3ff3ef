#include "compiler/Codegen/Loops/LowerToLLVM.h"

#include "compiler/Codegen/Loops/MathExpansion.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"

using namespace mlir;
using namespace cleave;

void cleave::registerLoopDialects(DialectRegistry &registry) {
  registry.insert<CleaveDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

// f32 functions become arithmetic; f64 functions stay calls of the C library (MathExpansion.h).
static LogicalResult expandMath(ModuleOp module, bool hasBFloat16) {
  RewritePatternSet patterns(module.getContext());
  auto always = [](StringRef) { return true; };
  populateMathExpansions(patterns);
  populateMathF32ExpansionPatterns(patterns, always);
  populateMathPolynomialApproximationPatterns(patterns, always);
  if (!hasBFloat16)
    arith::populateExpandBFloat16Patterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

// Returns the type with i16 in place of bf16, also as the element type of a vector or memref.
static Type withoutBFloat16(Type type) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](BFloat16Type bf16) -> Type { return IntegerType::get(bf16.getContext(), 16); });
  return replacer.replace(type);
}

// Returns the bits of a bf16 number, or of a vector of them, as integers. Other attributes stay as they are.
static Attribute withoutBFloat16(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value); number && number.getType().isBF16())
    return IntegerAttr::get(withoutBFloat16(number.getType()), number.getValue().bitcastToAPInt());
  if (auto numbers = dyn_cast<DenseFPElementsAttr>(value); numbers && numbers.getElementType().isBF16())
    return numbers.bitcast(withoutBFloat16(numbers.getElementType()));
  return value;
}

// Keeps bf16 numbers in integers. After expandMath they are moved, chosen and converted to bits, but no arithmetic is
// done with them. For a processor without bf16, LLVM would turn a choice between bf16 vectors into one of f32 vectors,
// and round each number back by a library function (__truncsfbf2) with which programs are not linked.
static void keepBFloat16InIntegers(ModuleOp module) {
  module.walk([](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(withoutBFloat16(argument.getType()));
    for (OpResult result : op->getResults())
      result.setType(withoutBFloat16(result.getType()));
    if (auto function = dyn_cast<func::FuncOp>(op))
      function.setFunctionType(cast<FunctionType>(withoutBFloat16(function.getFunctionType())));
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      constant.setValueAttr(cast<TypedAttr>(withoutBFloat16(constant.getValue())));
    if (auto table = dyn_cast<memref::GlobalOp>(op)) {
      table.setType(cast<MemRefType>(withoutBFloat16(Type(table.getType()))));
      if (Attribute numbers = table.getInitialValueAttr())
        table.setInitialValueAttr(withoutBFloat16(numbers));
    }
    if (auto bits = dyn_cast<arith::BitcastOp>(op); bits && bits.getIn().getType() == bits.getType()) {
      bits.getResult().replaceAllUsesWith(bits.getIn());
      bits.erase();
    }
  });
}

LogicalResult cleave::lowerToLLVMDialect(ModuleOp module, bool hasBFloat16, unsigned indexBits) {
  if (failed(expandMath(module, hasBFloat16)))
    return module.emitError("could not expand mathematical functions");
  if (!hasBFloat16)
    keepBFloat16InIntegers(module);
  PassManager passes(module.getContext());
  passes.addPass(createCSEPass());
  passes.addPass(createSCFToControlFlowPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  functions.indexBitwidth = indexBits;
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass({.indexBitwidth = indexBits}));
  passes.addPass(createConvertFuncToLLVMPass(functions));
  passes.addPass(createArithToLLVMConversionPass({.indexBitwidth = indexBits}));
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass({.indexBitwidth = indexBits}));
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

void cleave::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

llvm::Expected<std::string> cleave::emitMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                                    llvm::CodeGenFileType type) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return llvm::createStringError("this target cannot emit machine code");
  passes.run(module);
  return bytes.str().str();
}
