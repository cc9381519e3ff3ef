// The standard's definitions of its operators: how many inputs and outputs a node has, of which types, and its
// attributes.
//
// One table (OperatorSchemas.inc) has all versions of all operators, from the oldest opset that Cleave reads on; a test
// compares it with the `onnx` package. The importer asks it for every node of the default domain, so that no handler
// has to. A row reads as the standard's own pages do:
//
//   {"Conv", 13, "X:T W:T B?:T -> Y:T", "T=real", "auto_pad:STRING group:INT ..."}
//
// `?` marks what may be left out, `...1` a last parameter of any number of tensors, at least one, `*` that they may be
// of different types, `!` an attribute that must be there. Types are f16, bf16, f32, f64, i8, i16, i32, i64, u8 and
// bool; `real` is f16|f32|f64, `any` is all ten, `-` is none that Cleave has.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_OPERATORSCHEMAS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_OPERATORSCHEMAS_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace cleave::onnx_import {

// Types that a parameter may have, one bit each: tensors, and sequences of tensors.
using TypeSet = uint32_t;
// The bit of an element type; 0 for one that Cleave has not.
TypeSet tensorOf(mlir::Type element);
TypeSet sequenceOf(TypeSet elements);
// "f16, f32, f64 or a sequence of f32".
std::string formatTypes(TypeSet types);

struct Parameter {
  llvm::StringRef name;
  llvm::StringRef variable; // parameters of one variable have one type; empty for a type of its own
  TypeSet types = 0;
  bool isOptional = false;
  bool isVariadic = false; // the last one: any number from `least` on
  bool mayDiffer = false;  // a variadic one: the types may differ from each other
  size_t least = 0;
};

struct OperatorSchema {
  struct Attribute {
    onnx::AttributeProto::AttributeType type;
    bool isRequired;
  };
  llvm::SmallVector<Parameter> inputs, outputs;
  llvm::StringMap<Attribute> attributes;
  int64_t since = 0;

  bool takesSequence() const;

  // The definition that applies at an opset; null for what is no operator of it.
  static const OperatorSchema *find(llvm::StringRef op, int64_t opset);
  // The first opset from which on input or output `i` may have the type; 0 when none is known.
  static int64_t firstWithType(llvm::StringRef op, bool isInput, size_t i, TypeSet type);
};

// What is wrong with a node; empty where nothing is (AttributeRules.h checks its attributes).
std::string checkCounts(const onnx::NodeProto &node, const OperatorSchema &schema);
// `types` has the type of each input, then of each output, 0 for one that is left out. bf16 may stand wherever f16
// does.
std::string checkTypes(const onnx::NodeProto &node, const OperatorSchema &schema, llvm::ArrayRef<TypeSet> types);

} // namespace cleave::onnx_import

#endif
