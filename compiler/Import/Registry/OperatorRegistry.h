// The importer's plug-in point: how a library of one's own teaches Cleave an ONNX operator of its own domain.
//
// What a plug-in may do: register operators of domains other than ONNX's default one, whose meaning is fixed. A handler
// builds ops of the `cleave` dialect, or of a dialect that the plug-in brings along; those must answer the five
// questions of dialects/Cleave/IR/CleaveInterfaces.h (complete example: examples/custom-op). A model-local function of
// the same domain and name goes first.
//
// When it is called: `registerOperator` from the plug-in's registration callbacks, that is, once, before any import.
// The handler once for every node of the operator and every imported function: once for inference, twice for training
// (`@model`, then `@model.eval`). Nodes come in the graph's order, on one thread. A handler keeps no state.
//
// What holds then: required inputs are there, every input is a ranked tensor of static shape, and the builder stands
// where the node's ops belong.
//
// Example, a handler of com.example::Square:
//   LogicalResult importSquare(NodeImport &node) {
//     Value x = node.input(0);
//     return node.result(0, MulOp::create(node.builder(), node.location(), x, x));
//   }
//   registerOperator({"com.example", "Square", /*since=*/1, /*minInputs=*/1, /*maxInputs=*/1, importSquare});
//
// Rejected: handing plug-ins the importer's own OpContext. It would make them depend on protobuf and on every change
// inside the importer; this header names neither. The registry is a shared library, so that a plug-in and the program
// that loads it meet in the same one.
#ifndef CLEAVE_COMPILER_IMPORT_REGISTRY_OPERATORREGISTRY_H
#define CLEAVE_COMPILER_IMPORT_REGISTRY_OPERATORREGISTRY_H

#include "mlir/IR/Builders.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace cleave {

// One node that is being imported.
class NodeImport {
public:
  virtual ~NodeImport();

  virtual mlir::OpBuilder &builder() = 0;
  virtual mlir::Location location() const = 0; // carries the node's name into messages
  // Whether the function is the one to be trained.
  virtual bool training() const = 0;

  virtual size_t numInputs() const = 0;
  // Null where an optional input is left out.
  virtual mlir::Value input(size_t i) = 0;

  // None where the node has no attribute of that name and type.
  virtual std::optional<int64_t> intAttribute(llvm::StringRef name) const = 0;
  virtual std::optional<double> floatAttribute(llvm::StringRef name) const = 0;
  virtual std::optional<std::string> stringAttribute(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::SmallVector<int64_t>> intsAttribute(llvm::StringRef name) const = 0;

  virtual llvm::LogicalResult result(size_t i, mlir::Value value) = 0;
  // Reports "node 'a' (Swish): <reason>" and returns failure.
  virtual llvm::LogicalResult fail(const llvm::Twine &reason) = 0;
};

struct CustomOperator {
  std::string domain, name;
  int64_t since; // the first version of the domain's operator set that this handler understands
  size_t minInputs, maxInputs;
  llvm::LogicalResult (*import)(NodeImport &node);
};

// A mistake (the default domain, no handler, two handlers for one operator) is kept for checkRegistrations: callbacks
// have nowhere to return it to.
void registerOperator(CustomOperator registered);

// The mistakes of all registrations since the last call, one a line.
llvm::Error checkRegistrations();

// The entry with the greatest `since` not above `version`; null where there is none.
const CustomOperator *findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t version);

// The first version from which on the operator is known; none when it is not registered.
std::optional<int64_t> firstOperatorVersion(llvm::StringRef domain, llvm::StringRef name);

} // namespace cleave

#endif
