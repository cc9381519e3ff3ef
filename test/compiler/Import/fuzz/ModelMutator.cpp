#include "test/compiler/Import/fuzz/ModelMutator.h"

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

#include <climits>

using namespace cleave;
using namespace cleave::fuzz;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

int64_t Random::integer() {
  static const int64_t borders[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -100, 1ll << 31,
                                    1ll << 32, 1ll << 40, 1ll << 62, 255,       256,  65536};
  return below(4) ? int64_t(below(9)) - 3 : pick(borders);
}

namespace {

constexpr int64_t kMaxEmbedded = 1 << 20;
constexpr int kFloat = onnx::TensorProto::FLOAT, kInt64 = onnx::TensorProto::INT64;
const int kTypes[] = {kFloat,
                      kFloat,
                      kFloat,
                      kInt64,
                      kInt64,
                      onnx::TensorProto::BOOL,
                      onnx::TensorProto::DOUBLE,
                      onnx::TensorProto::INT32,
                      onnx::TensorProto::FLOAT16,
                      onnx::TensorProto::STRING};
const char *kAttributes[] = {"axis",
                             "axes",
                             "alpha",
                             "beta",
                             "keepdims",
                             "perm",
                             "to",
                             "kernel_shape",
                             "strides",
                             "pads",
                             "dilations",
                             "group",
                             "auto_pad",
                             "ceil_mode",
                             "epsilon",
                             "momentum",
                             "transA",
                             "transB",
                             "approximate",
                             "value",
                             "value_ints",
                             "start",
                             "end",
                             "equation",
                             "reduction",
                             "mode",
                             "batch_dims",
                             "ignore_index",
                             "num_outputs",
                             "split",
                             "upper",
                             "allowzero",
                             "stash_type",
                             "is_causal",
                             "q_num_heads",
                             "kv_num_heads",
                             "scale",
                             "softcap",
                             "largest",
                             "sorted",
                             "fmod",
                             "direction",
                             "bias",
                             "value_float",
                             "value_int",
                             "seed",
                             "noop_with_empty_axes",
                             "training_mode",
                             "count_include_pad",
                             "storage_order",
                             "exclusive",
                             "reverse",
                             "select_last_index"};
const char *kTexts[] = {"",     "SAME_UPPER", "VALID",   "NOTSET",    "mean",       "none", "sum",
                        "tanh", "constant",   "reflect", "ij,jk->ik", "...ij->...", "i,i",  "->",
                        "x",    "y",          "Relu",    "local",     "ai.onnx"};

std::vector<int64_t> randomShape(Random &random) {
  std::vector<int64_t> shape(random.below(5));
  for (int64_t &size : shape)
    size = random.below(30) ? int64_t(random.below(5)) : random.integer();
  return shape;
}

// Half of all inputs have matching shapes. Otherwise most operators would refuse them at once.
std::vector<int64_t> likelyShape(Random &random) {
  static const std::vector<int64_t> usual[] = {{2, 3}, {2, 3}, {3, 3}, {2, 3, 4, 4}, {2, 3, 4, 4},
                                               {3},    {},     {1},    {2, 2, 4}};
  return random.below(2) ? random.pick(usual) : randomShape(random);
}

void addInput(onnx::GraphProto &graph, const std::string &name, Random &random) {
  onnx::ValueInfoProto &input = *graph.add_input();
  input.set_name(name);
  onnx::TypeProto::Tensor &tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(random.pick(kTypes));
  tensor.mutable_shape();
  for (int64_t size : likelyShape(random))
    tensor.mutable_shape()->add_dim()->set_dim_value(size);
  if (random.below(3) == 0 && tensor.shape().dim_size() > 0)
    tensor.mutable_shape()->mutable_dim(0)->set_dim_param("batch");
}

// A short list of small integers, as axes, shapes, pads and indices are, or a tensor of any shape.
void fillTensor(onnx::TensorProto &tensor, const std::string &name, Random &random) {
  tensor.set_name(name);
  bool list = random.below(2);
  std::vector<int64_t> shape = list ? std::vector<int64_t>{int64_t(random.below(6))} : likelyShape(random);
  tensor.set_data_type(list ? kInt64 : random.pick(kTypes));
  int64_t count = 1;
  for (int64_t size : shape) {
    tensor.add_dims(size);
    count = size >= 0 && size < 100 ? count * size : 0;
  }
  if (list && shape[0] == 1 && random.below(2))
    tensor.clear_dims(); // a scalar
  for (int64_t i = 0; i < std::min<int64_t>(count, 4096); ++i)
    tensor.data_type() == kInt64   ? tensor.add_int64_data(random.integer())
    : tensor.data_type() == kFloat ? tensor.add_float_data(float(random.integer()))
                                   : tensor.add_int32_data(int32_t(random.integer()));
}

void addAttribute(onnx::NodeProto &node, Random &random) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(random.pick(kAttributes));
  switch (random.below(6)) {
  case 0:
  case 1:
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(random.integer());
    break;
  case 2:
    attribute.set_type(onnx::AttributeProto::INTS);
    for (size_t i = random.below(6); i > 0; --i)
      attribute.add_ints(random.integer());
    break;
  case 3:
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(float(random.integer()) / 4);
    break;
  case 4:
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(random.pick(kTexts));
    break;
  case 5:
    attribute.set_type(onnx::AttributeProto::TENSOR);
    fillTensor(*attribute.mutable_t(), "t", random);
    break;
  }
}

// A field that is set, in one of the messages of a model.
struct Place {
  Message *message;
  const FieldDescriptor *field;
};

void collect(Message &message, std::vector<Place> &places) {
  const Reflection &reflection = *message.GetReflection();
  std::vector<const FieldDescriptor *> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor *field : fields) {
    places.push_back({&message, field});
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    if (!field->is_repeated()) {
      collect(*reflection.MutableMessage(&message, field), places);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      collect(*reflection.MutableRepeatedMessage(&message, field, i), places);
  }
}

std::string randomText(const onnx::ModelProto &model, Random &random) {
  static const std::vector<std::string> operators = onnx_import::OperatorTable::get().names();
  const onnx::GraphProto &graph = model.graph();
  if (random.below(3) == 0)
    return random.pick(operators);
  if (random.below(2) && graph.node_size() > 0) { // a name that is in use: makes cycles, duplicates, wrong types
    const onnx::NodeProto &node = graph.node(int(random.below(graph.node_size())));
    if (node.output_size() > 0)
      return node.output(0);
  }
  return random.pick(kTexts);
}

void mutateList(Message &message, const FieldDescriptor *field, Random &random) {
  const Reflection &reflection = *message.GetReflection();
  int size = reflection.FieldSize(message, field);
  if (size == 0)
    return;
  int i = int(random.below(size)), j = int(random.below(size));
  if (random.below(2))
    return reflection.SwapElements(&message, field, i, j);
  reflection.SwapElements(&message, field, i, size - 1);
  reflection.RemoveLast(&message, field);
}

void mutateValue(Message &message, const FieldDescriptor *field, const onnx::ModelProto &model, Random &random) {
  const Reflection &reflection = *message.GetReflection();
  switch (field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT64:
    return reflection.SetInt64(&message, field, random.integer());
  case FieldDescriptor::CPPTYPE_INT32:
    return reflection.SetInt32(&message, field, int32_t(random.integer()));
  case FieldDescriptor::CPPTYPE_FLOAT:
    return reflection.SetFloat(&message, field, float(random.integer()));
  case FieldDescriptor::CPPTYPE_STRING:
    return reflection.SetString(&message, field, randomText(model, random));
  default:
    return reflection.ClearField(&message, field);
  }
}

} // namespace

bool fuzz::embedWeights(onnx::ModelProto &model) {
  int64_t total = 0;
  for (onnx::TensorProto &tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
      continue;
    int64_t bytes = tensor.data_type() == kInt64 || tensor.data_type() == onnx::TensorProto::DOUBLE ? 8 : 4;
    for (int64_t size : tensor.dims()) {
      if (size < 0 || size > kMaxEmbedded)
        return false;
      bytes = std::min(bytes * size, kMaxEmbedded + 1);
    }
    if ((total += bytes) > kMaxEmbedded)
      return false;
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.set_raw_data(std::string(size_t(bytes), '\0'));
  }
  return true;
}

onnx::ModelProto fuzz::randomOperator(Random &random) {
  static const std::vector<std::string> operators = onnx_import::OperatorTable::get().names();
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13 + int64_t(random.below(12)));
  onnx::GraphProto &graph = *model.mutable_graph();
  std::vector<std::string> values;
  for (size_t i = 0; i < 4; ++i) {
    values.push_back("x" + std::to_string(i));
    if (random.below(2))
      addInput(graph, values.back(), random);
    else
      fillTensor(*graph.add_initializer(), values.back(), random);
  }
  for (size_t n = 0, count = 1 + random.below(2); n < count; ++n) {
    onnx::NodeProto &node = *graph.add_node();
    node.set_op_type(random.pick(operators));
    for (size_t i = random.below(5); i > 0; --i)
      node.add_input(random.below(12) ? random.pick(values) : "");
    for (size_t i = random.below(5); i > 0; --i)
      addAttribute(node, random);
    for (size_t i = 0; i <= random.below(3); ++i)
      node.add_output("y" + std::to_string(n) + "_" + std::to_string(i));
    values.push_back(node.output(0));
  }
  graph.add_output()->set_name(values.back());
  return model;
}

void fuzz::mutate(onnx::ModelProto &model, Random &random) {
  for (size_t i = 1 + random.below(4); i > 0; --i) {
    std::vector<Place> places;
    collect(model, places);
    Place place = random.pick(places);
    place.field->is_repeated() ? mutateList(*place.message, place.field, random)
                               : mutateValue(*place.message, place.field, model, random);
  }
}
