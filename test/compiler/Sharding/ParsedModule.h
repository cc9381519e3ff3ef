// Modules and shardings from text, for tests of the propagation's values.
#ifndef CLEAVE_TEST_COMPILER_SHARDING_PARSEDMODULE_H
#define CLEAVE_TEST_COMPILER_SHARDING_PARSEDMODULE_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <string>

namespace cleave {

inline mlir::MLIRContext *testContext() {
  static mlir::MLIRContext *context = [] {
    auto *made = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    made->loadDialect<CleaveDialect, mlir::func::FuncDialect, mlir::shard::ShardDialect>();
    return made;
  }();
  return context;
}

// The sharding #cleave.sharding<TEXT>.
inline ShardingAttr shardingOf(const std::string &text) {
  return llvm::cast<ShardingAttr>(mlir::parseAttribute("#cleave.sharding<" + text + ">", testContext()));
}

// The mesh #cleave.mesh<TEXT>.
inline MeshAttr meshOf(const std::string &text) {
  return llvm::cast<MeshAttr>(mlir::parseAttribute("#cleave.mesh<" + text + ">", testContext()));
}

inline llvm::SmallVector<mlir::Attribute> axesOf(std::initializer_list<llvm::StringRef> names) {
  llvm::SmallVector<mlir::Attribute> axes;
  for (llvm::StringRef name : names)
    axes.push_back(mlir::StringAttr::get(testContext(), name));
  return axes;
}

// A backward pass that writes a gradient to @g, and an update of @w by it.
inline const char *kTrainingStep = R"(
  func.func @backward(%dy: tensor<4x64xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64}) {
    %double = cleave.add %dy, %dy : tensor<4x64xf32>
    %sum = cleave.reduce sum %double, [0] : tensor<4x64xf32> -> tensor<64xf32>
    cleave.write %sum, @g : tensor<64xf32>
    return
  }
  func.func @update() {
    %g = cleave.read @g : tensor<64xf32>
    %w = cleave.read @w : tensor<64xf32>
    %new = cleave.sub %w, %g : tensor<64xf32>
    cleave.write %new, @w : tensor<64xf32>
    return
  })";

// A module with states of 64 numbers, and these functions. Each state is "name role".
class ParsedModule {
public:
  ParsedModule(std::initializer_list<std::pair<std::string, std::string>> states, const std::string &functions) {
    std::string text;
    for (const auto &[name, role] : states)
      text += "cleave.state @" + name + " : tensor<64xf32> {role = #cleave.role<" + role +
              ">, segments = [#cleave.segment<\"w\", tensor<64xf32>, offset = 0, group = 0, "
              "init = #cleave.init<zeros>>]}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text + functions, testContext());
    EXPECT_TRUE(module) << text + functions;
  }

  mlir::ModuleOp get() const { return *module; }
  mlir::func::FuncOp function(llvm::StringRef name) const { return get().lookupSymbol<mlir::func::FuncOp>(name); }
  // The ops of this kind in the function, in order.
  template <typename Op> llvm::SmallVector<Op> ops(llvm::StringRef name) const {
    return llvm::to_vector(function(name).getBody().front().getOps<Op>());
  }

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace cleave

#endif
