// A plan as a tree of values, read and written by the schema alone (flatbuffers' reflection): what a field means is not
// known here, so that a field that is added to Plan.fbs is changed by the edits (Edits.h) without a word about it.
//
//   Schema schema(textOf("runtime/plan/Plan.fbs"));
//   Value tree = schema.read(bytes);
//   std::vector<uint64_t> same = schema.write(tree, &size);
#ifndef CLEAVE_TEST_PLANNING_STRUCTURAL_TREE_H
#define CLEAVE_TEST_PLANNING_STRUCTURAL_TREE_H

#include "flatbuffers/idl.h"
#include "flatbuffers/reflection_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::structural {

struct Type {
  reflection::BaseType base = reflection::None;
  reflection::BaseType element = reflection::None; // of a vector
  int32_t object = -1;                             // of a table or struct, or of a vector's elements; of a scalar: its enum

  bool isScalar() const { return base >= reflection::UType && base <= reflection::Double; }
  bool isReal() const { return base == reflection::Float || base == reflection::Double; }
  Type ofElements() const { return {element, reflection::None, object}; }
};

// A scalar's bits, sign- or zero-extended (of a real: those of the double), a text, or items: the fields of a table or struct in the order
// of their ids, the elements of a vector.
struct Value {
  bool isThere = true; // false: a text, vector or table that was left out
  uint64_t bits = 0;
  std::string text;
  std::vector<Value> items;
};

class Schema {
public:
  explicit Schema(const std::string &source); // the text of a .fbs file
  Value read(const void *bytes) const;
  std::vector<uint64_t> write(const Value &tree, size_t *size) const;

  Type root() const;
  const reflection::Object &object(int32_t index) const { return *schema_->objects()->Get(index); }
  std::vector<const reflection::Field *> fields(const Type &type) const; // in the order of ids
  // The values of an enum that a scalar has; none where it is a plain number.
  std::vector<uint64_t> valuesOf(const Type &type) const;

private:
  flatbuffers::Parser parser_;
  const reflection::Schema *schema_ = nullptr;
};

Type typeOf(const reflection::Field &field);
// The bytes of a scalar.
size_t widthOf(reflection::BaseType base);
// The bits that a scalar of that type keeps, as Value has them.
uint64_t fitted(const Type &type, uint64_t bits);

} // namespace cleave::structural

#endif
