// Which initializers are trained. Every op of the dialect passes a gradient on, ends it by definition, or is known to
// have no derivative. A gradient never ends without a message.
#include "compiler/Import/ONNX/StateRoles.h"
#include "compiler/Import/ONNX/File/ModelFile.h"
#include "compiler/Import/ONNX/Importer.h"
#include "compiler/Import/Registry/OperatorRegistry.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "test/dialects/Cleave/GradientCases.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <set>

using namespace cleave;
using namespace cleave::onnx_import;
using cleave::test::GradientCase;
using Names = std::vector<std::string>;

namespace {

const char *const kStrides =
    "strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>";

// Ops at which gradients end by definition.
std::vector<GradientCase> decisions() {
  std::string f = "tensor<3x4xf64>";
  return {{"cleave.compare", "lt %0, %1 : " + f, {f, f}, {"tensor<3x4xi1>"}},
          {"cleave.argmax", "%0, dim = 1 : " + f + " -> tensor<3xi64>", {f}, {"tensor<3xi64>"}},
          {"cleave.top_k", "%0, 2 : " + f + " -> tensor<3x2xi64>", {f}, {"tensor<3x2xi64>"}},
          {"cleave.cast", "%0 : " + f + " -> tensor<3x4xi32>", {f}, {"tensor<3x4xi32>"}},
          {"cleave.stop_gradient", "%0 : " + f, {f}, {f}}};
}

// Ops at which gradients end too, but the gradient is zero and not absent. So the parameters decay.
std::vector<GradientCase> zeros() {
  std::string f = "tensor<3x4xf64>";
  return {{"cleave.sign", "%0 : " + f, {f}, {f}},
          {"cleave.floor", "%0 : " + f, {f}, {f}},
          {"cleave.ceil", "%0 : " + f, {f}, {f}},
          {"cleave.round", "%0 : " + f, {f}, {f}}};
}

// Functions of floating-point numbers without an implemented derivative. Only the backward pass makes these ops.
std::vector<GradientCase> gaps() {
  std::string x = "tensor<1x3x6xf64>", y = "tensor<1x3x3xf64>", w = "tensor<3x3x2xf64>", windows(kStrides);
  std::string q = "tensor<1x1x3x4xf64>", s = "tensor<1x1x3xf64>",
              seven = q + ", " + q + ", " + q + ", " + q + ", " + s + ", " + s + ", " + s;
  return {{"cleave.convolution_weight_grad",
           "%0, %1 {" + windows + ", groups = 1 : i64} : " + x + ", " + y + " -> " + w,
           {x, y},
           {w}},
          {"cleave.max_pool_grad", "%0, %1 {window = array<i64: 2>, " + windows + "} : " + x + ", " + y, {x, y}, {x}},
          {"cleave.avg_pool_grad", "%0 {window = array<i64: 2>, " + windows + "} : " + y + " -> " + x, {y}, {x}},
          {"cleave.attention_grad",
           "%0, %1, %2, %3, %4, %5, %6, scale = 0.5 : (" + seven + ") -> (" + q + ", " + q + ", " + q + ")",
           {q, q, q, q, s, s, s},
           {q, q, q}},
          {"cleave.offload", "%0 : " + x, {x}, {x}}};
}

bool isFloat(const std::string &type) { return type.find('f') != std::string::npos; }

std::string stateOf(const std::string &name, const std::string &type, const std::string &more = "") {
  return "cleave.state @" + name + " : " + type + " {role = #cleave.role<parameter>, segments = [#cleave.segment<\"" +
         name + "\", " + type + ", offset = 0, group = 0, init = #cleave.init<weights>>]" + more + "}\n";
}

// A module in which all floating-point operands of the case are parameters p0, p1, ...
std::string moduleOf(const GradientCase &test, Names &parameters) {
  std::string states, arguments, reads, results;
  for (auto [i, type] : llvm::enumerate(test.inputs)) {
    std::string number = std::to_string(i);
    if (isFloat(type)) {
      parameters.push_back("p" + number);
      states += stateOf(parameters.back(), type);
      reads += "%" + number + " = cleave.read @p" + number + " : " + type + "\n";
    } else {
      arguments += (arguments.empty() ? "%" : ", %") + number + ": " + type;
    }
  }
  for (size_t i = 0; i < test.results.size(); ++i)
    results += (i ? ", %r" : "%r") + (test.results.size() > 1 ? "#" + std::to_string(i) : std::string());
  std::string types = llvm::join(test.results, ", ");
  return states + "func.func @model(" + arguments + ") -> (" + types + ") {\n" + reads + "%r" +
         (test.results.size() > 1 ? ":" + std::to_string(test.results.size()) : std::string()) + " = " + test.op + " " +
         test.operands + "\nreturn " + results + " : " + types + "\n}\n";
}

mlir::MLIRContext &context() {
  static mlir::MLIRContext *context = [] {
    auto *made = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    made->loadDialect<CleaveDialect, mlir::func::FuncDialect>();
    return made;
  }();
  return *context;
}

// The answer of refineStateRoles for a program.
struct Answer {
  Names trained, decided, zero, missing, ops; // ops: those at which a gradient ends
};

Answer answerTo(const std::string &source, bool isOfAuthor = true) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context());
  EXPECT_TRUE(module) << source;
  if (!module)
    return {};
  RefinedStateRoles roles = refineStateRoles(*module, module->lookupSymbol<mlir::func::FuncOp>("model"),
                                             [&](llvm::StringRef) { return isOfAuthor; });
  Answer answer;
  for (StateOp state : module->getOps<StateOp>())
    if (state.getRole() == Role::Parameter)
      answer.trained.push_back(state.getSymName().str());
  for (auto &[list, names] : {std::pair(&roles.decided, &answer.decided), std::pair(&roles.zero, &answer.zero),
                              std::pair(&roles.missing, &answer.missing)})
    for (const EndedGradient &each : *list) {
      names->push_back(each.parameter);
      answer.ops.push_back(each.op ? each.op->getName().getStringRef().str() : "none");
    }
  return answer;
}

enum class Expected { Trained, Decided, Zero, Missing };

void check(const std::vector<GradientCase> &cases, Expected expected, std::set<std::string> &covered) {
  for (const GradientCase &test : cases) {
    Names parameters;
    std::string source = moduleOf(test, parameters);
    SCOPED_TRACE(source);
    Answer answer = answerTo(source);
    EXPECT_EQ(answer.trained, expected == Expected::Trained || expected == Expected::Zero ? parameters : Names());
    EXPECT_EQ(answer.zero, expected == Expected::Zero ? parameters : Names());
    EXPECT_EQ(answer.decided, expected == Expected::Decided ? parameters : Names());
    EXPECT_EQ(answer.missing, expected == Expected::Missing ? parameters : Names());
    EXPECT_EQ(answer.ops, expected == Expected::Trained ? Names() : Names(parameters.size(), test.op));
    covered.insert(test.op);
  }
}

TEST(StateRolesTest, EveryOpPassesDecidesOrIsKnownToLackADerivative) {
  // No operand or no result is a floating-point number: these ops hold states and structure.
  std::set<std::string> covered = {
      "cleave.and",   "cleave.or",     "cleave.xor",  "cleave.not",      "cleave.check_index",
      "cleave.iota",  "cleave.state",  "cleave.read", "cleave.constant", "cleave.random_uniform",
      "cleave.write", "cleave.kernel", "cleave.yield"};
  std::set<std::string> deciding;
  check(decisions(), Expected::Decided, deciding);
  check(zeros(), Expected::Zero, deciding);
  std::vector<GradientCase> passing;
  for (const GradientCase &test : cleave::test::gradientCases())
    if (test.op == "cleave.cast" || !deciding.count(test.op))
      passing.push_back(test);
  check(passing, Expected::Trained, covered);
  check(gaps(), Expected::Missing, covered);
  covered.insert(deciding.begin(), deciding.end());
  for (mlir::RegisteredOperationName op : context().getRegisteredOperationsByDialect("cleave"))
    EXPECT_TRUE(covered.count(op.getStringRef().str()))
        << op.getStringRef().str() << " has a case neither here nor in GradientCases.cpp";
}

const std::string kWindow =
    std::string(" {window = array<i64: 2>, ") + kStrides + "} : tensor<1x3x3xf64> -> tensor<1x3x6xf64>\n";

std::string chainOf(const std::string &body, const std::string &more = "") {
  return stateOf("w", "tensor<1x3x3xf64>", more) + "func.func @model(%x: tensor<1x3x6xf64>) -> tensor<1x3x6xf64> {\n" +
         "%w = cleave.read @w : tensor<1x3x3xf64>\n" + body + "return %y : tensor<1x3x6xf64>\n}\n";
}

TEST(StateRolesTest, GapsAreFoundThroughOtherOps) {
  Answer answer = answerTo(chainOf("%a = cleave.exp %w : tensor<1x3x3xf64>\n%b = cleave.avg_pool_grad %a" + kWindow +
                                   "%y = cleave.mul %b, %x : tensor<1x3x6xf64>\n"));
  EXPECT_EQ(answer.missing, Names{"w"});
  EXPECT_EQ(answer.ops, Names{"cleave.avg_pool_grad"});
  EXPECT_TRUE(answer.trained.empty());
}

// A gradient that lacks one of its terms is wrong, too.
TEST(StateRolesTest, AGapBesideADifferentiableWayIsFound) {
  Answer answer = answerTo(
      chainOf("%b = cleave.avg_pool_grad %w" + kWindow +
              "%s = cleave.concat %w, %w dim = 2 : tensor<1x3x3xf64>, tensor<1x3x3xf64> -> tensor<1x3x6xf64>\n" +
              "%y = cleave.add %b, %s : tensor<1x3x6xf64>\n"));
  EXPECT_EQ(answer.missing, Names{"w"});
  EXPECT_EQ(answer.trained, Names{"w"});
}

TEST(StateRolesTest, FrozenParametersNeedNoGradient) {
  Answer answer = answerTo(chainOf("%y = cleave.avg_pool_grad %w" + kWindow, ", frozen"));
  EXPECT_TRUE(answer.missing.empty());
}

TEST(StateRolesTest, NoGradientComesToAGapFromADecision) {
  Answer answer =
      answerTo(chainOf("%b = cleave.avg_pool_grad %w" + kWindow + "%y = cleave.floor %b : tensor<1x3x6xf64>\n"));
  EXPECT_TRUE(answer.missing.empty());
  EXPECT_EQ(answer.decided, Names{"w"});
  EXPECT_EQ(answer.ops, Names{"cleave.floor"});
}

// A parameter that is rounded after another op decays. So does one that is also compared. A constant of the exporter
// does not.
TEST(StateRolesTest, ZeroGradientsPassThroughOtherOps) {
  std::string body = "%s = cleave.concat %w, %w dim = 2 : tensor<1x3x3xf64>, tensor<1x3x3xf64> -> tensor<1x3x6xf64>\n"
                     "%b = cleave.round %s : tensor<1x3x6xf64>\n"
                     "%c = cleave.compare lt %s, %x : tensor<1x3x6xf64>\n"
                     "%y = cleave.select %c, %b, %x : tensor<1x3x6xi1>, tensor<1x3x6xf64>\n";
  Answer answer = answerTo(chainOf(body));
  EXPECT_EQ(answer.trained, Names{"w"});
  EXPECT_EQ(answer.zero, Names{"w"});
  answer = answerTo(chainOf(body), /*isOfAuthor=*/false);
  EXPECT_TRUE(answer.trained.empty());
  EXPECT_EQ(answer.decided, Names{"w"});
}

// A plug-in's operator without a derivative: test::Keep, which becomes cleave.offload.
llvm::LogicalResult importKeep(NodeImport &node) {
  return node.result(0, OffloadOp::create(node.builder(), node.location(), node.input(0)));
}

// loss = sum(x * Keep(a) * b)
std::string modelWithPlugin() {
  onnx::ModelProto model;
  model.set_ir_version(9);
  for (auto [domain, version] : {std::pair("", 17), std::pair("test", 1)}) {
    auto *opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("g");
  auto addPort = [](onnx::ValueInfoProto &port, const std::string &name, std::vector<int64_t> shape) {
    port.set_name(name);
    auto *type = port.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    type->mutable_shape();
    for (int64_t size : shape)
      type->mutable_shape()->add_dim()->set_dim_value(size);
  };
  addPort(*graph.add_input(), "x", {2, 3});
  addPort(*graph.add_output(), "loss", {});
  for (const char *name : {"a", "b"}) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(3);
    for (float value : {0.5f, 0.25f, 2.0f})
      tensor.add_float_data(value);
  }
  auto addNode = [&](const char *type, std::vector<std::string> inputs, const char *output, const char *domain = "") {
    onnx::NodeProto &node = *graph.add_node();
    node.set_op_type(type);
    node.set_domain(domain);
    node.set_name(std::string("/") + type + "." + output);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return &node;
  };
  addNode("Keep", {"a"}, "k", "test");
  addNode("Mul", {"x", "k"}, "xk");
  addNode("Mul", {"xk", "b"}, "y");
  auto *keep = addNode("ReduceSum", {"y"}, "loss")->add_attribute();
  keep->set_name("keepdims");
  keep->set_type(onnx::AttributeProto::INT);
  keep->set_i(0);
  return model.SerializeAsString();
}

std::string importError(const ImportOptions &options) {
  auto model = importONNXFromMemory(context(), modelWithPlugin(), "", options);
  return model ? "" : llvm::toString(model.takeError());
}

TEST(StateRolesTest, TrainingNamesTheParameterAndTheNodeWithoutADerivative) {
  registerOperator({"test", "Keep", 1, 1, 1, importKeep});
  ImportOptions options;
  EXPECT_EQ(importError(options), ""); // inference needs no derivatives
  options.train = true;
  EXPECT_EQ(
      importError(options),
      "node '/Keep.k' (Keep): 'cleave.offload' has no derivative, and parameters reach the loss through it: a; leave "
      "them as they are with --freeze a, export the model with other operators in its place, or implement "
      "DifferentiableOpInterface if it is an op of yours");
  options.freeze = {"a"};
  EXPECT_EQ(importError(options), "");
}

} // namespace
