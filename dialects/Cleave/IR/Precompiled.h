// The headers that most files of the dialects and the compiler include, and that cost the most time to read. They are
// compiled once (cmake/CleaveMLIR.cmake). Files include what they need themselves, as if this did not exist.
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
