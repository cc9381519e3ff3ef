// How the result of an operator hangs on its operands, for numbers that are lines over the number of samples
// (SizeDecisions.h): whether it is a line, too, and which question tells.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_DECISIONKINDS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_DECISIONKINDS_H

#include "llvm/ADT/StringRef.h"

namespace cleave::onnx_import {

enum class DecisionKind {
  Line,      // elements that are moved, and sums: lines stay lines
  Product,   // a line where one factor is the same for every number of samples
  Products,  // of one operand's elements
  Less,      // a < b, a >= b: whether the difference is below zero
  Greater,   // a > b, a <= b
  Equal,     // a == b
  Choice,    // the smaller or the larger one of the operands
  Reduction, // that of one operand's elements
  Bend,      // another line below zero: |x|
  Sign,      // a step at zero
  Quotient,  // rounded, with the rest
  Rounding,
  Cut,   // where a slice ends (b) in a dimension (a)
  Other, // not known, and so another line
};

// Of an operator of the default domain.
DecisionKind decisionKindOf(llvm::StringRef op);

} // namespace cleave::onnx_import

#endif
