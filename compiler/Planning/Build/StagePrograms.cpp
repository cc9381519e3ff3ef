#include "compiler/Planning/Build/StagePrograms.h"

#include "compiler/Planning/Verify/Facts/Meaning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace cleave::plan {

namespace {

// The reader of plans accepts no more frames and no more repetitions. No schedule comes near these limits of nesting
// and runs.
constexpr int64_t kMostFrames = 1 << 20;
constexpr size_t kMostNested = 64;
constexpr uint64_t kMostRuns = 1 << 20;

// Depth-first search over calls. `open` is the path from the first function to the one that is checked.
class CallChecker {
public:
  explicit CallChecker(ModuleOp module) : symbols(module) {}

  LogicalResult check(func::FuncOp function) {
    if (runs.contains(function))
      return success();
    if (!open.insert(function))
      return tellCircle(function);
    if (open.size() > kMostNested)
      return function.emitOpError("is ") << kMostNested << " calls below another function; expected fewer";
    if (!function.getBody().hasOneBlock())
      return function.emitOpError("must have a body of one block");
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
      if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
        return function.emitOpError("expects statically shaped tensors as arguments and results; got: ") << type;
    uint64_t count = 1;
    if (auto calls = function->getAttrOfType<ArrayAttr>(kCallsAttr))
      for (auto call : calls.getAsRange<DictionaryAttr>())
        if (failed(checkCall(function, call, count)))
          return failure();
    open.pop_back();
    runs[function] = count;
    return success();
  }

private:
  LogicalResult checkCall(func::FuncOp function, DictionaryAttr call, uint64_t &count) {
    auto name = call.getAs<StringAttr>("program");
    auto callee = symbols.lookup<func::FuncOp>(name);
    if (!callee)
      return function.emitOpError("calls @") << name.getValue() << ", which is not a function of the module";
    for (auto [number, least] : {std::pair("times", int64_t{0}), {"first_frame", -kMostFrames}, {"skip", int64_t{0}}})
      if (auto is = call.getAs<IntegerAttr>(number); is && (is.getInt() < least || is.getInt() > kMostFrames))
        return function.emitOpError("calls @") << name.getValue() << " with " << number << " = " << is.getInt()
                                               << "; expected " << least << " to " << kMostFrames;
    if (failed(check(callee)))
      return failure();
    int64_t times = call.getAs<IntegerAttr>("times").getInt();
    count += static_cast<uint64_t>(std::min(times, kMaxInterpretedTimes)) * runs.lookup(callee);
    if (count > kMostRuns)
      return function.emitOpError("runs more than ") << kMostRuns << " programs; expected calls of fewer";
    return success();
  }

  LogicalResult tellCircle(func::FuncOp function) const {
    auto error = function.emitOpError("calls itself: ");
    for (func::FuncOp on : ArrayRef(open.getArrayRef()).drop_while([&](func::FuncOp on) { return on != function; }))
      error << "@" << on.getSymName() << " -> ";
    return error << "@" << function.getSymName();
  }

  SymbolTable symbols;
  llvm::SetVector<func::FuncOp> open;
  llvm::DenseMap<Operation *, uint64_t> runs; // number of programs that run when a checked function runs once
};

} // namespace

LogicalResult checkCalls(ModuleOp module) {
  CallChecker checker(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(checker.check(function)))
      return failure();
  return success();
}

} // namespace cleave::plan
