// A plan as a tree of values. Only the schema is used to read and write it (FlatBuffers' reflection), and the meaning
// of fields is unknown here. So the edits (Edits.h) also change a field that is added to Plan.fbs, without any change
// here.
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
  int32_t object = -1; // of a table or struct, or of a vector's elements; of a scalar: its enum

  bool isScalar() const { return base >= reflection::UType && base <= reflection::Double; }
  bool isReal() const { return base == reflection::Float || base == reflection::Double; }
  Type ofElements() const { return {element, reflection::None, object}; }
};

// A scalar has `bits`, sign- or zero-extended (of a real: the bits of the double). A text has `text`. Others have
// items: the fields of a table or struct in the order of their ids, or the elements of a vector.
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
  // The values of a scalar's enum. Empty if it is a plain number.
  std::vector<uint64_t> valuesOf(const Type &type) const;

private:
  flatbuffers::Parser parser_;
  const reflection::Schema *schema_ = nullptr;
};

Type typeOf(const reflection::Field &field);
// The size of a scalar in bytes.
size_t widthOf(reflection::BaseType base);
// `bits` reduced to what a scalar of that type can store, in the form of Value::bits.
uint64_t fitted(const Type &type, uint64_t bits);

} // namespace cleave::structural

#endif
