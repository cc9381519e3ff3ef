// Executes functions of cleave ops without the planned runtime: cleave -> linalg -> loops -> LLVM's JIT.
//
//   auto program = ReferenceProgram::compile(context, "func.func @f(%a: tensor<2xf64>) -> tensor<2xf64> {...}");
//   Arrays results = program->run("f", {{1.0, 2.0}});
//
// Numbers are passed as doubles, whatever the element type (f64, f32, i64, i32, i1), in row-major order.
#ifndef CLEAVE_TEST_DIALECTS_CLEAVE_REFERENCEPROGRAM_H
#define CLEAVE_TEST_DIALECTS_CLEAVE_REFERENCEPROGRAM_H

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cleave::test {

using Array = std::vector<double>;
using Arrays = std::vector<Array>;

// A context with every dialect and pass that lowering to LLVM needs. A test program has one.
mlir::MLIRContext &referenceContext();

class ReferenceProgram {
public:
  // Returns null, after printing diagnostics, if the module does not parse, verify or lower.
  static std::unique_ptr<ReferenceProgram> compile(llvm::StringRef source);
  static std::unique_ptr<ReferenceProgram> compile(mlir::ModuleOp module);

  Arrays run(const std::string &function, const Arrays &inputs) const;

private:
  struct Signature {
    std::vector<mlir::RankedTensorType> inputs, results;
  };
  std::map<std::string, Signature> signatures;
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace cleave::test

#endif
