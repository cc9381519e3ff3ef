// The standard's definitions of its operators: the numbers and types of inputs and outputs, and the attributes.
//
// One table (OperatorSchemas.inc) has all versions of all operators, from the oldest opset that Cleave reads. A test
// compares it with the `onnx` package. The importer checks every node of the default domain against it, so that
// handlers need not. A row is written as on the standard's pages:
//
//   {"Conv", 13, "X:T W:T B?:T -> Y:T", "T=real", "auto_pad:STRING group:INT ..."}
//
// `?` marks a parameter that may be omitted, `...1` a last parameter of any number of tensors, at least one, `*` that
// their types may differ, and `!` a required attribute. Types are f16, bf16, f32, f64, i8, i16, i32, i64, u8 and bool.
// `real` is f16|f32|f64, `any` is all ten, and `-` is no type that Cleave has.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_OPERATORSCHEMAS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_OPERATORSCHEMAS_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace cleave::onnx_import {

// The types that a parameter may have, one bit each: tensors, and sequences of tensors.
using TypeSet = uint32_t;
// Returns the bit of an element type, or 0 if Cleave does not have the type.
TypeSet tensorOf(mlir::Type element);
TypeSet sequenceOf(TypeSet elements);
// Returns for example "f16, f32, f64 or a sequence of f32".
std::string formatTypes(TypeSet types);

struct Parameter {
  llvm::StringRef name;
  llvm::StringRef variable; // parameters with one variable have one type; empty: a type of its own
  TypeSet types = 0;
  bool isOptional = false;
  bool isVariadic = false; // the last parameter: any number of tensors, at least `least`
  bool mayDiffer = false;  // if variadic: the types may differ from each other
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

  // Returns the definition that applies at an opset, or null if it has no such operator.
  static const OperatorSchema *find(llvm::StringRef op, int64_t opset);
  // Returns the first opset in which input or output `i` may have the type, or 0 if there is none.
  static int64_t firstWithType(llvm::StringRef op, bool isInput, size_t i, TypeSet type);
};

// Returns what is wrong with a node, or an empty string (AttributeRules.h checks its attributes).
std::string checkCounts(const onnx::NodeProto &node, const OperatorSchema &schema);
// Returns what is wrong with the types, or an empty string. `types` has the type of each input, then of each output, 0
// if it is omitted. bf16 is permitted wherever f16 is.
std::string checkTypes(const onnx::NodeProto &node, const OperatorSchema &schema, llvm::ArrayRef<TypeSet> types);

} // namespace cleave::onnx_import

#endif
