// Classifies operators by how the result depends on operands that are affine functions of the number of samples (lines,
// see SizeDecisions.h): whether the result is a line, too, and which test decides this.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_DECISIONKINDS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_DECISIONKINDS_H

#include "llvm/ADT/StringRef.h"

namespace cleave::onnx_import {

enum class DecisionKind {
  Line,      // moves elements or adds them: the result of lines is a line
  Product,   // a line if one factor is the same for every number of samples
  Products,  // the product of one operand's elements
  Less,      // a < b, a >= b: decided by whether a - b is below zero
  Greater,   // a > b, a <= b
  Equal,     // a == b
  Choice,    // selects the smaller or the larger of the operands
  Reduction, // selects the smallest or the largest element of one operand
  Bend,      // one line above zero, another line below it: |x|
  Sign,      // constant, with a step at zero
  Quotient,  // quotients that are rounded, and remainders
  Rounding,
  Cut,   // the end of a slice (operand b) in a dimension of size a
  Other, // an unknown operator: its result counts as not a line
};

// Returns the kind of an operator of ONNX's default domain.
DecisionKind decisionKindOf(llvm::StringRef op);

} // namespace cleave::onnx_import

#endif
