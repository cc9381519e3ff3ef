// The importer's interface for plug-ins: versions, and mistakes of registrations.
#include "compiler/Import/Registry/OperatorRegistry.h"

#include <gtest/gtest.h>

using namespace cleave;

namespace {

llvm::LogicalResult first(NodeImport &) { return llvm::success(); }
llvm::LogicalResult second(NodeImport &) { return llvm::success(); }

std::string mistakes() { return llvm::toString(checkRegistrations()); }

} // namespace

TEST(OperatorRegistry, TheNewestVersionNotAboveTheFilesApplies) {
  registerOperator({"com.test", "Versioned", 2, 1, 1, first});
  registerOperator({"com.test", "Versioned", 5, 1, 1, second});
  EXPECT_EQ(mistakes(), "");
  EXPECT_EQ(findOperator("com.test", "Versioned", 1), nullptr);
  EXPECT_EQ(findOperator("com.test", "Versioned", 2)->import, first);
  EXPECT_EQ(findOperator("com.test", "Versioned", 4)->import, first);
  EXPECT_EQ(findOperator("com.test", "Versioned", 9)->import, second);
  EXPECT_EQ(firstOperatorVersion("com.test", "Versioned"), 2);
}

TEST(OperatorRegistry, UnknownOperatorsAreNotFound) {
  EXPECT_EQ(findOperator("com.test", "Unknown", 1), nullptr);
  EXPECT_EQ(firstOperatorVersion("com.test", "Unknown"), std::nullopt);
}

TEST(OperatorRegistry, TheDefaultDomainIsOnnxsOwn) {
  for (const char *domain : {"", "ai.onnx"}) {
    registerOperator({domain, "Relu", 1, 1, 1, first});
    EXPECT_NE(mistakes().find("the default domain's operators are ONNX's own"), std::string::npos);
    EXPECT_EQ(findOperator(domain, "Relu", 20), nullptr);
  }
}

TEST(OperatorRegistry, TwoHandlersOfOneOperatorAreAMistake) {
  registerOperator({"com.test", "Twice", 1, 1, 1, first});
  registerOperator({"com.test", "Twice", 1, 1, 1, first}); // the same library was named twice
  EXPECT_EQ(mistakes(), "");
  registerOperator({"com.test", "Twice", 1, 1, 1, second});
  EXPECT_EQ(mistakes(), "operator 'com.test::Twice': two plug-ins register it since version 1; load only one of them");
  EXPECT_EQ(findOperator("com.test", "Twice", 1)->import, first);
  EXPECT_EQ(mistakes(), ""); // reported once
}

TEST(OperatorRegistry, IncompleteEntriesAreMistakes) {
  registerOperator({"com.test", "NoHandler", 1, 1, 1, nullptr});
  registerOperator({"com.test", "Inputs", 1, 3, 1, first});
  std::string text = mistakes();
  EXPECT_NE(text.find("'com.test::NoHandler': expected a name and a handler"), std::string::npos);
  EXPECT_NE(text.find("'com.test::Inputs': takes at least 3 inputs and at most 1"), std::string::npos);
}
