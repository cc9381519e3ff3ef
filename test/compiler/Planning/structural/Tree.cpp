#include "test/compiler/Planning/structural/Tree.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cleave::structural {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::uoffset_t;
using reflection::BaseType;

namespace {

double asReal(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}
uint64_t asBits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}

template <typename T> uint64_t loaded(const uint8_t *at) {
  T value = flatbuffers::ReadScalar<T>(at);
  if constexpr (std::is_floating_point_v<T>)
    return asBits(value);
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}

// Calls `use` with a value of the C++ type of a scalar.
template <typename Use> auto dispatch(BaseType base, Use use) {
  switch (base) {
  case reflection::Byte: return use(int8_t{});
  case reflection::Short: return use(int16_t{});
  case reflection::UShort: return use(uint16_t{});
  case reflection::Int: return use(int32_t{});
  case reflection::UInt: return use(uint32_t{});
  case reflection::Long: return use(int64_t{});
  case reflection::ULong: return use(uint64_t{});
  case reflection::Float: return use(float{});
  case reflection::Double: return use(double{});
  default: return use(uint8_t{}); // Bool, UByte, UType
  }
}

template <typename T> T stored(uint64_t bits) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(asReal(bits));
  return static_cast<T>(bits);
}

uint64_t load(BaseType base, const uint8_t *at) {
  return dispatch(base, [&](auto zero) { return loaded<decltype(zero)>(at); });
}
void store(BaseType base, uint64_t bits, uint8_t *at) {
  dispatch(base, [&](auto zero) { flatbuffers::WriteScalar(at, stored<decltype(zero)>(bits)); });
}

class Reader {
public:
  explicit Reader(const Schema &schema) : schema_(schema) {}

  Value table(const Type &type, const flatbuffers::Table *at) const {
    Value value;
    for (const reflection::Field *field : schema_.fields(type)) {
      Type of = typeOf(*field);
      const uint8_t *found = at->GetAddressOf(field->offset());
      if (of.isScalar())
        value.items.push_back(scalar(of, found, *field));
      else
        value.items.push_back(found ? reference(of, found) : nothing());
    }
    return value;
  }

private:
  static Value nothing() {
    Value value;
    value.isThere = false;
    return value;
  }
  static Value number(uint64_t bits) {
    Value value;
    value.bits = bits;
    return value;
  }
  Value scalar(const Type &type, const uint8_t *at, const reflection::Field &field) const {
    if (at)
      return number(load(type.base, at));
    return number(type.isReal() ? asBits(field.default_real()) : static_cast<uint64_t>(field.default_integer()));
  }
  Value structure(const Type &type, const uint8_t *at) const {
    Value value;
    for (const reflection::Field *field : schema_.fields(type))
      value.items.push_back(number(load(typeOf(*field).base, at + field->offset())));
    return value;
  }
  Value reference(const Type &type, const uint8_t *slot) const {
    const uint8_t *at = slot + flatbuffers::ReadScalar<uoffset_t>(slot);
    if (type.base == reflection::String) {
      Value value;
      value.text = reinterpret_cast<const flatbuffers::String *>(at)->str();
      return value;
    }
    if (type.base != reflection::Vector)
      return table(type, reinterpret_cast<const flatbuffers::Table *>(at));
    Value value;
    uoffset_t count = flatbuffers::ReadScalar<uoffset_t>(at);
    at += sizeof(uoffset_t);
    Type element = type.ofElements();
    bool isStruct = element.base == reflection::Obj && schema_.object(element.object).is_struct();
    size_t step = isStruct ? schema_.object(element.object).bytesize() : element.isScalar() ? widthOf(element.base) : sizeof(uoffset_t);
    for (uoffset_t i = 0; i < count; ++i, at += step)
      value.items.push_back(isStruct ? structure(element, at) : element.isScalar() ? number(load(element.base, at)) : reference(element, at));
    return value;
  }

  const Schema &schema_;
};

class Writer {
public:
  explicit Writer(const Schema &schema) : schema_(schema) { builder.ForceDefaults(true); }

  uoffset_t table(const Type &type, const Value &value) {
    std::vector<const reflection::Field *> fields = schema_.fields(type);
    std::vector<uoffset_t> children(fields.size());
    for (size_t i = 0; i < fields.size(); ++i)
      if (Type of = typeOf(*fields[i]); !of.isScalar() && value.items[i].isThere)
        children[i] = reference(of, value.items[i]);
    uoffset_t start = builder.StartTable();
    for (size_t i = 0; i < fields.size(); ++i) {
      Type of = typeOf(*fields[i]);
      if (children[i])
        builder.AddOffset(fields[i]->offset(), flatbuffers::Offset<void>(children[i]));
      else if (of.isScalar())
        dispatch(of.base, [&](auto zero) {
          builder.AddElement(fields[i]->offset(), stored<decltype(zero)>(value.items[i].bits), decltype(zero)(0));
        });
    }
    return builder.EndTable(start);
  }

  FlatBufferBuilder builder;

private:
  uoffset_t reference(const Type &type, const Value &value) {
    if (type.base == reflection::String)
      return builder.CreateString(value.text).o;
    return type.base == reflection::Vector ? vector(type.ofElements(), value) : table(type, value);
  }
  uoffset_t vector(const Type &element, const Value &value) {
    const reflection::Object *object = element.base == reflection::Obj ? &schema_.object(element.object) : nullptr;
    if (!element.isScalar() && !(object && object->is_struct())) {
      std::vector<flatbuffers::Offset<void>> offsets;
      for (const Value &item : value.items)
        offsets.emplace_back(reference(element, item));
      return builder.CreateVector(offsets).o;
    }
    size_t width = object ? object->bytesize() : widthOf(element.base), align = object ? object->minalign() : width;
    uint8_t *at = nullptr;
    builder.ForceVectorAlignment(value.items.size(), width, align);
    uoffset_t result = builder.CreateUninitializedVector(value.items.size(), width, &at);
    for (const Value &item : value.items) {
      if (object) {
        std::memset(at, 0, width);
        std::vector<const reflection::Field *> fields = schema_.fields(element);
        for (size_t i = 0; i < fields.size(); ++i)
          store(typeOf(*fields[i]).base, item.items[i].bits, at + fields[i]->offset());
      } else {
        store(element.base, item.bits, at);
      }
      at += width;
    }
    return result;
  }

  const Schema &schema_;
};

} // namespace

Type typeOf(const reflection::Field &field) {
  return {field.type()->base_type(), field.type()->element(), field.type()->index()};
}

size_t widthOf(BaseType base) {
  return dispatch(base, [](auto zero) { return sizeof zero; });
}

uint64_t fitted(const Type &type, uint64_t bits) {
  uint8_t bytes[8];
  store(type.base, bits, bytes);
  return load(type.base, bytes);
}

Schema::Schema(const std::string &source) {
  if (!parser_.Parse(source.c_str())) {
    std::fprintf(stderr, "the schema: %s\n", parser_.error_.c_str());
    std::exit(1);
  }
  parser_.Serialize();
  schema_ = reflection::GetSchema(parser_.builder_.GetBufferPointer());
}

Type Schema::root() const {
  const reflection::Object *root = schema_->root_table();
  for (uoffset_t i = 0; i < schema_->objects()->size(); ++i)
    if (schema_->objects()->Get(i)->name()->str() == root->name()->str())
      return {reflection::Obj, reflection::None, static_cast<int32_t>(i)};
  return {};
}

std::vector<const reflection::Field *> Schema::fields(const Type &type) const {
  std::vector<const reflection::Field *> result(object(type.object).fields()->begin(), object(type.object).fields()->end());
  std::sort(result.begin(), result.end(), [](const auto *a, const auto *b) { return a->id() < b->id(); });
  return result;
}

std::vector<uint64_t> Schema::valuesOf(const Type &type) const {
  std::vector<uint64_t> result;
  if (type.isScalar() && type.object >= 0)
    for (const reflection::EnumVal *value : *schema_->enums()->Get(type.object)->values())
      result.push_back(static_cast<uint64_t>(value->value()));
  return result;
}

Value Schema::read(const void *bytes) const {
  return Reader(*this).table(root(), flatbuffers::GetRoot<flatbuffers::Table>(bytes));
}

std::vector<uint64_t> Schema::write(const Value &tree, size_t *size) const {
  Writer writer(*this);
  uoffset_t made = writer.table(root(), tree);
  writer.builder.Finish(flatbuffers::Offset<void>(made), schema_->file_ident()->c_str());
  *size = writer.builder.GetSize();
  std::vector<uint64_t> bytes((*size + 7) / 8);
  std::memcpy(bytes.data(), writer.builder.GetBufferPointer(), *size);
  return bytes;
}

} // namespace cleave::structural
