// One or more functions for every differentiable op of the dialect.
#ifndef CLEAVE_TEST_DIALECTS_CLEAVE_GRADIENTCASES_H
#define CLEAVE_TEST_DIALECTS_CLEAVE_GRADIENTCASES_H

#include <string>
#include <vector>

namespace cleave::test {

struct GradientCase {
  std::string op;       // the op under test, e.g. "cleave.add"
  std::string operands; // its operand list, attributes and types, with %0, %1, ... for the function's arguments
  std::vector<std::string> inputs, results; // tensor types
  double low = -2, high = 2;                // of floating-point inputs
  int indices = 2;                          // integers are in [-indices, indices)
  double step = 1e-5, tolerance = 1e-6;
};

std::vector<GradientCase> gradientCases();

// The text of func.func @f(%arg0: ..., ...) -> (...) with the op, which returns the op's results.
std::string forwardSource(const GradientCase &test);

} // namespace cleave::test

#endif
