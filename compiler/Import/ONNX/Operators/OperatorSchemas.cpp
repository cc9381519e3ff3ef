#include "compiler/Import/ONNX/Operators/OperatorSchemas.h"
#include "compiler/Import/ONNX/Support.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace cleave::onnx_import;
using onnx::AttributeProto;

namespace {

struct Row {
  const char *op;
  int64_t since;
  const char *signature, *variables, *attributes;
};
constexpr Row kRows[] = {
#include "compiler/Import/ONNX/Operators/OperatorSchemas.inc"
};

constexpr const char *kTypeNames[] = {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "bool"};
constexpr unsigned kTypes = std::size(kTypeNames);
constexpr TypeSet kAny = (1u << kTypes) - 1, kReal = 1u << 0 | 1u << 2 | 1u << 3;

TypeSet typeNamed(llvm::StringRef name) {
  if (name == "any")
    return kAny;
  if (name == "real")
    return kReal;
  const auto *found = llvm::find(kTypeNames, name);
  return found == std::end(kTypeNames) ? 0 : 1u << (found - kTypeNames);
}

// Parses for example "real|bf16|seq(any)". Cleave has no optional values, so `opt(...)` adds no type.
TypeSet parseTypes(llvm::StringRef text) {
  TypeSet types = 0;
  while (!text.empty()) {
    size_t end = text.find_first_of("|(");
    llvm::StringRef word = text.substr(0, end);
    if (end != llvm::StringRef::npos && text[end] == '(') {
      llvm::StringRef inside = text.slice(end + 1, text.find(')'));
      types |= word == "seq" ? sequenceOf(parseTypes(inside)) : 0;
      end = text.find('|', end + 1 + inside.size());
    } else {
      types |= typeNamed(word);
    }
    text = text.substr(std::min(end, text.size())).drop_front(end < text.size());
  }
  return types;
}

// Parses for example "X:T", "B?:T", "data...1:T" or "v...0*:V".
Parameter parseParameter(llvm::StringRef text, const std::map<llvm::StringRef, TypeSet> &variables) {
  Parameter parameter;
  auto [left, type] = text.split(':');
  parameter.mayDiffer = left.consume_back("*");
  parameter.isOptional = left.consume_back("?");
  auto [name, least] = left.split("...");
  parameter.name = name;
  if (name.size() != left.size()) {
    parameter.isVariadic = true;
    least.getAsInteger(10, parameter.least);
  }
  auto variable = variables.find(type);
  if (variable == variables.end()) {
    parameter.types = parseTypes(type);
  } else {
    parameter.types = variable->second;
    parameter.variable = variable->first;
  }
  return parameter;
}

OperatorSchema parseRow(const Row &row) {
  OperatorSchema schema;
  schema.since = row.since;
  std::map<llvm::StringRef, TypeSet> variables;
  for (llvm::StringRef variable : llvm::split(row.variables, ' '))
    variables[variable.split('=').first] = parseTypes(variable.split('=').second);
  llvm::SmallVector<Parameter> *side = &schema.inputs;
  for (llvm::StringRef word : llvm::split(row.signature, ' ')) {
    if (word == "->")
      side = &schema.outputs;
    else if (!word.empty())
      side->push_back(parseParameter(word, variables));
  }
  for (llvm::StringRef word : llvm::split(row.attributes, ' ')) {
    auto [name, typeName] = word.split(':');
    bool isRequired = name.consume_back("!");
    AttributeProto::AttributeType type = AttributeProto::UNDEFINED;
    if (AttributeProto::AttributeType_Parse(typeName.str(), &type))
      schema.attributes[name] = {type, isRequired};
  }
  return schema;
}

using Versions = std::map<int64_t, OperatorSchema>;

const llvm::StringMap<Versions> &allSchemas() {
  static const auto table = [] {
    llvm::StringMap<Versions> result;
    for (const Row &row : kRows)
      result[row.op][row.since] = parseRow(row);
    return result;
  }();
  return table;
}

// The smallest and the largest number of inputs or outputs.
struct Range {
  size_t least = 0, most = 0;
};
constexpr size_t kAnyNumber = size_t(-1);

Range countsOf(llvm::ArrayRef<Parameter> parameters) {
  Range range;
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    range.most = parameter.isVariadic ? kAnyNumber : i + 1;
    if (parameter.isVariadic)
      range.least = i + parameter.least;
    else if (!parameter.isOptional)
      range.least = i + 1;
  }
  return range;
}

std::string checkCount(llvm::ArrayRef<Parameter> parameters, size_t given, llvm::StringRef what) {
  Range range = countsOf(parameters);
  if (given >= range.least && given <= range.most)
    return "";
  size_t limit = given < range.least ? range.least : range.most;
  return "expected at " + std::string(given < range.least ? "least " : "most ") + std::to_string(limit) + " " +
         what.str() + (limit == 1 ? "" : "s") + "; got " + std::to_string(given);
}

const Parameter &parameterAt(llvm::ArrayRef<Parameter> parameters, size_t i) {
  return parameters[std::min(i, parameters.size() - 1)];
}

} // namespace

TypeSet cleave::onnx_import::tensorOf(mlir::Type element) {
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return element.isInteger(1) ? typeNamed("bool") : typeNamed(name == "ui8" ? "u8" : name);
}

TypeSet cleave::onnx_import::sequenceOf(TypeSet elements) { return (elements & kAny) << kTypes; }

std::string cleave::onnx_import::formatTypes(TypeSet types) {
  llvm::SmallVector<std::string> names;
  for (unsigned i = 0; i < 2 * kTypes; ++i)
    if (types >> i & 1)
      names.push_back((i < kTypes ? "" : "sequence of ") + std::string(kTypeNames[i % kTypes]));
  if (names.empty())
    return "a type that Cleave does not have";
  std::string last = names.pop_back_val();
  return names.empty() ? last : llvm::join(names, ", ") + " or " + last;
}

bool OperatorSchema::takesSequence() const {
  return llvm::any_of(inputs, [](const Parameter &parameter) { return parameter.types > kAny; });
}

const OperatorSchema *OperatorSchema::find(llvm::StringRef op, int64_t opset) {
  auto versions = allSchemas().find(op);
  if (versions == allSchemas().end())
    return nullptr;
  auto above = versions->second.upper_bound(opset);
  return above == versions->second.begin() ? nullptr : &std::prev(above)->second;
}

int64_t OperatorSchema::firstWithType(llvm::StringRef op, bool isInput, size_t i, TypeSet type) {
  for (const auto &[since, schema] : allSchemas().find(op)->second) {
    const auto &parameters = isInput ? schema.inputs : schema.outputs;
    if (!parameters.empty() && (parameterAt(parameters, i).types & type))
      return since;
  }
  return 0;
}

std::string cleave::onnx_import::checkCounts(const onnx::NodeProto &node, const OperatorSchema &schema) {
  if (std::string reason = checkCount(schema.inputs, size_t(node.input_size()), "input"); !reason.empty())
    return reason;
  if (std::string reason = checkCount(schema.outputs, size_t(node.output_size()), "output"); !reason.empty())
    return reason;
  for (auto [i, input] : llvm::enumerate(node.input()))
    if (input.empty() && !parameterAt(schema.inputs, i).isOptional)
      return "input " + std::to_string(i) + " (" + quote(parameterAt(schema.inputs, i).name) + ") is missing";
  return "";
}

// Permits bf16 wherever f16 is permitted. Older definitions do not list it, but PyTorch exports modules in bf16 to any
// opset.
static TypeSet allowedBy(TypeSet types) {
  const TypeSet half = typeNamed("f16"), brain = typeNamed("bf16");
  return types | (types & half ? brain : 0) | (types & sequenceOf(half) ? sequenceOf(brain) : 0);
}

std::string cleave::onnx_import::checkTypes(const onnx::NodeProto &node, const OperatorSchema &schema,
                                            llvm::ArrayRef<TypeSet> types) {
  struct Bound {
    TypeSet types;
    size_t index; // of the first input or output with the variable
  };
  std::map<llvm::StringRef, Bound> bound;
  const size_t numInputs = size_t(node.input_size());
  auto parameter = [&](size_t index) -> const Parameter & {
    return index < numInputs ? parameterAt(schema.inputs, index) : parameterAt(schema.outputs, index - numInputs);
  };
  auto describe = [&](size_t index) {
    bool isInput = index < numInputs;
    return (isInput ? "input " : "output ") + std::to_string(isInput ? index : index - numInputs) + " (" +
           quote(parameter(index).name) + ") is " + formatTypes(types[index]);
  };
  for (auto [index, type] : llvm::enumerate(types)) {
    if (!type)
      continue;
    const Parameter &wanted = parameter(index);
    const TypeSet allowed = allowedBy(wanted.types);
    if (!(type & allowed)) {
      bool isInput = index < numInputs;
      int64_t newer = OperatorSchema::firstWithType(node.op_type(), isInput, isInput ? index : index - numInputs, type);
      return describe(index) + "; expected " + formatTypes(wanted.types) +
             (newer > schema.since ? "; opset " + std::to_string(newer) + " and newer allow it" : "");
    }
    if (wanted.variable.empty() || wanted.mayDiffer)
      continue;
    auto [it, isNew] = bound.try_emplace(wanted.variable, Bound{type & allowed, index});
    if (!isNew && !(it->second.types & type))
      return describe(it->second.index) + " and " + describe(index) + "; expected one type for both";
    it->second.types &= type;
  }
  return "";
}
