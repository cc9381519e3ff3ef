// This file is the importer's plug-in point. A plug-in uses it to add ONNX operators of its own domain to Cleave.
//
// A plug-in may register operators of every domain but ONNX's default one, because ONNX defines the operators of that
// domain. A handler builds ops of the `cleave` dialect, or of a dialect that the plug-in provides. Ops of such a
// dialect must answer the five questions of dialects/Cleave/IR/CleaveInterfaces.h (complete example:
// examples/custom-op). If the file has a model-local function of the same domain and name, the importer uses the
// function, not the handler.
//
// The plug-in calls `registerOperator` from its registration callbacks, that is, once, before any import. The importer
// calls the handler for each node of the operator, once for each function that it imports: once for inference, twice
// for training (`@model`, then `@model.eval`). It imports nodes in the graph's order, on one thread. A handler keeps no
// state between calls.
//
// When a handler is called, required inputs are present, every input is a ranked tensor of static shape, and the
// builder is set to the place where the node's ops belong.
//
// Example, a handler of com.example::Square:
//   LogicalResult importSquare(NodeImport &node) {
//     Value x = node.input(0);
//     return node.result(0, MulOp::create(node.builder(), node.location(), x, x));
//   }
//   registerOperator({"com.example", "Square", /*since=*/1, /*minInputs=*/1, /*maxInputs=*/1, importSquare});
//
// Rejected: giving plug-ins the importer's own OpContext. Plug-ins would depend on protobuf and on every change inside
// the importer; this header uses neither. The registry is a shared library, so that a plug-in and the program that
// loads it use the same registry.
#ifndef CLEAVE_COMPILER_IMPORT_REGISTRY_OPERATORREGISTRY_H
#define CLEAVE_COMPILER_IMPORT_REGISTRY_OPERATORREGISTRY_H

#include "mlir/IR/Builders.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace cleave {

// The node that is being imported, as a plug-in's handler sees it.
class NodeImport {
public:
  virtual ~NodeImport();

  virtual mlir::OpBuilder &builder() = 0;
  virtual mlir::Location location() const = 0; // carries the node's name into messages
  // True if the function that is being imported is the one to be trained.
  virtual bool training() const = 0;

  virtual size_t numInputs() const = 0;
  // Returns null if an optional input is omitted.
  virtual mlir::Value input(size_t i) = 0;

  // Each returns nullopt if the node has no attribute of that name and type.
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

// Registers an operator. Mistakes (the default domain, no handler, two handlers for one operator) are stored until
// checkRegistrations() is called, because a registration callback cannot return an error.
void registerOperator(CustomOperator registered);

// Returns the mistakes of all registrations since the last call, one on each line.
llvm::Error checkRegistrations();

// Returns the entry with the greatest `since` that is not above `version`, or null if there is none.
const CustomOperator *findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t version);

// Returns the lowest `since` with which the operator is registered, or nullopt if it is not registered.
std::optional<int64_t> firstOperatorVersion(llvm::StringRef domain, llvm::StringRef name);

} // namespace cleave

#endif
