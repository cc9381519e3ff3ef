// The answers of comparisons that are known at import.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_PREDICATES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_PREDICATES_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave::onnx_import {

template <typename T> bool holds(Predicate predicate, T a, T b) {
  switch (predicate) {
  case Predicate::Eq:
    return a == b;
  case Predicate::Ne:
    return a != b;
  case Predicate::Lt:
    return a < b;
  case Predicate::Le:
    return a <= b;
  case Predicate::Gt:
    return a > b;
  case Predicate::Ge:
    return a >= b;
  }
  return false;
}

} // namespace cleave::onnx_import

#endif
