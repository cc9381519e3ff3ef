#include "compiler/Import/ONNX/StaticOperands.h"
#include "compiler/Import/ONNX/Interpreter.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Folding.h"

#include "llvm/ADT/SetVector.h"

using namespace cleave;
using namespace cleave::onnx_import;
using mlir::Operation;

static constexpr const char kMark[] = "import.static"; // attribute of a state: the node that needed it first
static constexpr const char kUnaffordable[] = "a value for which the budget is too small"; // which is reported instead
static constexpr const char kOfInputs[] = "a value computed from the model's inputs";

static std::string initializerOf(StateOp state) {
  return llvm::cast<SegmentAttr>(state.getSegments()[0]).getName().str();
}

namespace {

// The ops that compute one value, operands first, down to constants and to states whose elements are known.
class Slice {
public:
  explicit Slice(OpContext &op) : op_(op) {}

  // Collects the ops. Returns an empty string, or the reason why the value is not known.
  std::string collect(Value root) {
    llvm::SmallVector<std::pair<Operation *, unsigned>> open; // each with the number of operands that were visited
    auto enter = [&](Value value) -> std::string {
      Operation *made = value.getDefiningOp();
      if (!made)
        return kOfInputs;
      if (!op_.emit.budget.draw(Budget::Kind::Work, 1))
        return kUnaffordable;
      if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
          type && type.getNumElements() > kMaxFoldedElements)
        return "a value computed from a tensor of shape " + formatShape(type.getShape());
      if (seen_.insert(made))
        open.push_back({made, 0});
      return "";
    };
    std::string reason = enter(root);
    while (reason.empty() && !open.empty()) {
      auto &[made, next] = open.back();
      if (next < made->getNumOperands()) {
        reason = enter(made->getOperand(next++));
        continue;
      }
      reason = llvm::isa<ReadOp>(made) ? addRead(llvm::cast<ReadOp>(made)) : "";
      ops_.push_back(made);
      open.pop_back();
    }
    return reason;
  }

  // Evaluates the collected ops. Returns null if the value could not be computed.
  std::shared_ptr<const Literal> evaluate(Value root) {
    Interpreter interpreter(op_.emit.budget, Interpreter::Use::Required);
    for (Operation *made : ops_)
      if (auto read = llvm::dyn_cast<ReadOp>(made))
        interpreter.define(read.getResult(), *known_.at(made));
      else
        interpreter.visit(made);
    auto value = interpreter.find(root);
    return value ? std::make_shared<const Literal>(std::move(*value)) : nullptr;
  }

  llvm::ArrayRef<StateOp> states() const { return states_; }

private:
  std::string addRead(ReadOp read) {
    if ((known_[read] = op_.environment().constant(read.getState())))
      return "";
    StateOp state = op_.environment().state(read.getState());
    if (!state || state.getRole() == Role::Scalar)
      return "a value computed from what the host sets";
    std::string name = initializerOf(state);
    const Binding &binding = op_.environment().binding(name);
    if (binding.kind != Binding::Kind::State || binding.symbol != read.getState() || !binding.known)
      return "a value computed from initializer " + quote(name) +
             ", which has more than 64 elements, or whose elements --init sets";
    known_[read] = binding.known;
    states_.push_back(state);
    return "";
  }

  OpContext &op_;
  llvm::SetVector<Operation *> seen_;
  std::vector<Operation *> ops_;
  llvm::DenseMap<Operation *, std::shared_ptr<const Literal>> known_;
  std::vector<StateOp> states_;
};

} // namespace

StaticOperand cleave::onnx_import::staticOperand(OpContext &op, const Binding &binding) {
  auto mark = [&](StateOp state) {
    if (state && !state->hasAttr(kMark))
      state->setAttr(kMark, op.emit.builder.getStringAttr(op.describe()));
  };
  if (binding.kind == Binding::Kind::State && binding.known)
    mark(op.environment().state(binding.symbol));
  if (binding.known)
    return {binding.known, ""};
  Value value = op.environment().materialize(const_cast<Binding &>(binding));
  if (!value)
    return {nullptr, "a sequence"};
  Slice slice(op);
  if (std::string reason = slice.collect(value); !reason.empty())
    return {nullptr, reason};
  std::shared_ptr<const Literal> known = slice.evaluate(value);
  if (!known)
    return {nullptr, "a value that is not computed at compile time"};
  for (StateOp state : slice.states())
    mark(state);
  return {known, ""};
}

StaticOperand cleave::onnx_import::staticOperand(OpContext &op, size_t input) {
  if (!op.has(input))
    return {};
  return staticOperand(op, op.environment().binding(op.inputName(input)));
}

StaticUses cleave::onnx_import::takeStaticUses(mlir::ModuleOp module) {
  StaticUses uses;
  for (StateOp state : module.getOps<StateOp>())
    if (auto mark = llvm::dyn_cast_or_null<mlir::StringAttr>(state->removeAttr(kMark)))
      uses[initializerOf(state)] = mark.str();
  return uses;
}

void cleave::onnx_import::reportTrainedSizes(mlir::ModuleOp module, const StaticUses &uses, ErrorList &errors) {
  for (StateOp state : module.getOps<StateOp>()) {
    std::string name = initializerOf(state);
    auto use = uses.find(name);
    if (use != uses.end() && state.getRole() == Role::Parameter && !state.getFrozen())
      errors.add(use->second + ": initializer " + quote(name) +
                 " decides a number that must be known at compile time, and another use trains it; keep it as it is "
                 "with --freeze " +
                 quote(name));
  }
}
