#include "compiler/Import/ONNX/Operators/CustomOperators.h"

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

// The plug-in's view of an OpContext.
class ContextNode : public NodeImport {
public:
  explicit ContextNode(OpContext &op) : op(op) {}

  mlir::OpBuilder &builder() override { return op.emit.builder; }
  mlir::Location location() const override { return op.emit.loc; }
  bool training() const override { return op.mode.training; }

  size_t numInputs() const override { return op.numInputs(); }
  Value input(size_t i) override { return op.value(i); }

  std::optional<int64_t> intAttribute(llvm::StringRef name) const override { return op.intAttr(name); }
  std::optional<double> floatAttribute(llvm::StringRef name) const override { return op.floatAttr(name); }
  std::optional<std::string> stringAttribute(llvm::StringRef name) const override {
    const onnx::AttributeProto *found = op.attribute(name);
    return found && found->has_s() ? std::optional<std::string>(found->s()) : std::nullopt;
  }
  std::optional<llvm::SmallVector<int64_t>> intsAttribute(llvm::StringRef name) const override {
    auto found = op.intsAttr(name);
    return found ? std::optional<llvm::SmallVector<int64_t>>(llvm::to_vector(*found)) : std::nullopt;
  }

  LogicalResult result(size_t i, Value value) override {
    auto type = value ? llvm::dyn_cast<mlir::RankedTensorType>(value.getType()) : mlir::RankedTensorType();
    if (!type || !type.hasStaticShape())
      return fail("its plug-in gave no tensor of static shape as result " + llvm::Twine(i));
    return op.result(i, value);
  }
  LogicalResult fail(const llvm::Twine &reason) override { return op.fail(reason); }

private:
  OpContext &op;
};

} // namespace

const CustomOperator *cleave::onnx_import::findCustomOperator(const FlatNode &node) {
  return findOperator(canonicalDomain(node.proto->domain()), node.proto->op_type(), node.opset());
}

LogicalResult cleave::onnx_import::importCustomNode(const CustomOperator &custom, OpContext &op) {
  ContextNode node(op);
  return custom.import(node);
}
