// Tests that the dialect and runtime/plan/Instructions.def agree. Lists the differences in both directions.
#include "dialects/Plan/IR/Plan.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <set>

namespace cleave::plan {
namespace {

std::set<std::string> attributesOf(mlir::RegisteredOperationName name) {
  std::set<std::string> result;
  for (mlir::StringAttr attribute : name.getAttributeNames())
    result.insert(attribute.str());
  return result;
}

TEST(InstructionSet, DialectMirrorsTheDefinition) {
  mlir::MLIRContext context;
  context.loadDialect<PlanDialect>();
  std::set<std::string> seen;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperationsByDialect("plan")) {
    if (!name.hasInterface<InstructionOpInterface>())
      continue;
    std::string mnemonic = name.stripDialect().str();
    const InstructionDef *def = findInstruction(mnemonic);
    if (!def) {
      ADD_FAILURE() << "plan." << mnemonic << " is missing in Instructions.def";
      continue;
    }
    seen.insert(mnemonic);
    std::set<std::string> expected = {"note", "stream"};
    if (llvm::is_contained(def->fields, "group") || llvm::is_contained(def->fields, "channel"))
      expected.insert("reason"); // ranks exchange bytes
    for (llvm::StringRef buffer : def->buffers)
      expected.insert(buffer.str());
    for (llvm::StringRef field : def->fields)
      expected.insert(field.str());
    EXPECT_EQ(attributesOf(name), expected) << "attributes of plan." << mnemonic;
  }
  for (const InstructionDef &def : instructionTable())
    EXPECT_TRUE(seen.count(def.mnemonic.str())) << "no op plan." << def.mnemonic.str();
}

} // namespace
} // namespace cleave::plan
