// Compares every op's vector-Jacobian product with central finite differences in float64.
#include "test/dialects/Cleave/GradientCases.h"
#include "test/dialects/Cleave/ReferenceProgram.h"

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

using namespace cleave;
using namespace cleave::test;

// Adds @vjp(inputs..., result gradients...) -> gradients of operands. `operands` are those that have a gradient.
static bool addGradientFunction(mlir::ModuleOp module, const std::string &opName, std::vector<unsigned> &operands) {
  auto forward = module.lookupSymbol<mlir::func::FuncOp>("f");
  auto gradient = forward.clone();
  gradient.setName("vjp");
  module.push_back(gradient);
  mlir::Operation *op = nullptr;
  gradient.walk([&](DifferentiableOpInterface found) {
    if (found->getName().getStringRef() == opName)
      op = found;
  });
  if (!op)
    return false;
  mlir::Block &body = gradient.getBody().front();
  llvm::SmallVector<mlir::Value> resultGrads, operandGrads(op->getNumOperands());
  for (mlir::Type type : op->getResultTypes())
    resultGrads.push_back(body.addArgument(type, op->getLoc()));
  mlir::Operation *terminator = body.getTerminator();
  mlir::OpBuilder builder(terminator);
  if (mlir::failed(mlir::cast<DifferentiableOpInterface>(op).buildVJP(builder, resultGrads, operandGrads)))
    return false;
  llvm::SmallVector<mlir::Value> returned;
  for (auto [index, grad] : llvm::enumerate(operandGrads))
    if (grad) {
      EXPECT_EQ(grad.getType(), op->getOperand(index).getType()) << "gradient of operand " << index;
      returned.push_back(grad);
      operands.push_back(index);
    }
  terminator->setOperands(returned);
  gradient.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), mlir::ValueRange(returned).getTypes()));
  gradient.setResAttrsAttr(nullptr);
  return mlir::succeeded(mlir::verify(module));
}

static bool isFloat(const std::string &type) { return type.find('f') != std::string::npos; }

static size_t elementsOf(const std::string &type) {
  auto parsed = llvm::cast<mlir::RankedTensorType>(mlir::parseType(type, &referenceContext()));
  return parsed.getNumElements();
}

// All floating-point numbers of a case are different, evenly spaced, and not centered at zero: none is near a kink, and
// no two are near a tie.
static Arrays makeInputs(const GradientCase &test, std::mt19937 &random) {
  size_t total = 0;
  for (const std::string &type : test.inputs)
    total += elementsOf(type);
  std::vector<size_t> order(total);
  for (size_t i = 0; i < total; ++i)
    order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  Arrays inputs;
  size_t next = 0;
  for (const std::string &type : test.inputs) {
    Array values(elementsOf(type));
    for (double &value : values) {
      if (isFloat(type))
        value = test.low + (test.high - test.low) * (order[next++] + 0.37) / total;
      else if (type.find("i1>") != std::string::npos)
        value = random() % 2;
      else
        value = static_cast<int>(random() % (2 * test.indices)) - test.indices;
    }
    inputs.push_back(values);
  }
  return inputs;
}

static double dot(const Arrays &a, const Arrays &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].size(); ++j)
      sum += a[i][j] * b[i][j];
  return sum;
}

static void checkCase(const GradientCase &test, std::mt19937 &random) {
  std::string source = forwardSource(test);
  SCOPED_TRACE(source);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &referenceContext());
  ASSERT_TRUE(module);
  std::vector<unsigned> withGradient;
  ASSERT_TRUE(addGradientFunction(*module, test.op, withGradient));
  auto program = ReferenceProgram::compile(*module);
  ASSERT_TRUE(program);

  Arrays inputs = makeInputs(test, random), resultGrads;
  for (const std::string &type : test.results) {
    resultGrads.emplace_back(elementsOf(type));
    for (double &value : resultGrads.back())
      value = std::uniform_real_distribution<double>(-1, 1)(random);
  }
  Arrays arguments = inputs;
  arguments.insert(arguments.end(), resultGrads.begin(), resultGrads.end());
  Arrays gradients = program->run("vjp", arguments);

  for (size_t input = 0; input < inputs.size(); ++input) {
    if (!isFloat(test.inputs[input]))
      continue;
    auto found = std::find(withGradient.begin(), withGradient.end(), input);
    for (size_t i = 0; i < inputs[input].size(); ++i) {
      auto lossAt = [&](double offset) {
        Arrays moved = inputs;
        moved[input][i] += offset;
        return dot(program->run("f", moved), resultGrads);
      };
      double expected = (lossAt(test.step) - lossAt(-test.step)) / (2 * test.step);
      double got = found == withGradient.end() ? 0.0 : gradients[found - withGradient.begin()][i];
      ASSERT_NEAR(got, expected, test.tolerance * std::max(1.0, std::abs(expected)))
          << "operand " << input << ", element " << i;
    }
  }
}

TEST(GradientTest, AgreesWithFiniteDifferences) {
  std::mt19937 random(7);
  for (const GradientCase &test : gradientCases())
    checkCase(test, random);
}

static Arrays gradientsAt(const GradientCase &test, const Arrays &arguments) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(forwardSource(test), &referenceContext());
  std::vector<unsigned> withGradient;
  if (!module || !addGradientFunction(*module, test.op, withGradient))
    return {};
  auto program = ReferenceProgram::compile(*module);
  return program ? program->run("vjp", arguments) : Arrays();
}

// A product's gradient must not divide by zero. With one zero, only that element has a gradient. With two, none has.
TEST(GradientTest, ProductWithZeros) {
  GradientCase test = {
      "cleave.reduce", "product %0, [1] : tensor<3x3xf64> -> tensor<3xf64>", {"tensor<3x3xf64>"}, {"tensor<3xf64>"}};
  EXPECT_EQ(gradientsAt(test, {{2, 3, 4, 0, 3, 4, 0, 0, 5}, {1, 1, 1}}), (Arrays{{12, 8, 6, 12, 0, 0, 0, 0, 0}}));
}

// Equal extrema share the gradient, as in torch.amax, amin, maximum and minimum.
TEST(GradientTest, TiesShareTheGradient) {
  for (auto &[kind, sign] : std::vector<std::pair<std::string, double>>{{"max", 1}, {"min", -1}}) {
    GradientCase reduce = {
        "cleave.reduce", kind + " %0, [1] : tensor<3x4xf64> -> tensor<3xf64>", {"tensor<3x4xf64>"}, {"tensor<3xf64>"}};
    Array rows = {3, 3, 1, 0, 2, 2, 2, 2, 0, 1, 5, -1};
    GradientCase pairs = {
        "cleave." + kind, "%0, %1 : tensor<3xf64>", {"tensor<3xf64>", "tensor<3xf64>"}, {"tensor<3xf64>"}};
    Array left = {1, 2, 3}, right = {1, 3, 2};
    for (Array *values : {&rows, &left, &right})
      for (double &value : *values)
        value *= sign;
    EXPECT_EQ(gradientsAt(reduce, {rows, {2, 4, 8}}), (Arrays{{1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 8, 0}}));
    EXPECT_EQ(gradientsAt(pairs, {left, right, {2, 4, 8}}), (Arrays{{1, 0, 8}, {1, 4, 0}}));
  }
}

TEST(GradientTest, StopGradientGivesNone) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      forwardSource({"cleave.stop_gradient", "%0 : tensor<4xf64>", {"tensor<4xf64>"}, {"tensor<4xf64>"}}),
      &referenceContext());
  std::vector<unsigned> withGradient;
  ASSERT_TRUE(module && addGradientFunction(*module, "cleave.stop_gradient", withGradient));
  EXPECT_TRUE(withGradient.empty());
  auto program = ReferenceProgram::compile(*module);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->run("f", {{1, -2, 3, 0}}), (Arrays{{1, -2, 3, 0}}));
}

TEST(GradientTest, EveryDifferentiableOpHasACase) {
  std::set<std::string> covered = {
      "cleave.stop_gradient"}; // its gradient is not that of its formula: StopGradientGivesNone
  for (const GradientCase &test : gradientCases())
    covered.insert(test.op);
  for (mlir::RegisteredOperationName op : referenceContext().getRegisteredOperationsByDialect("cleave"))
    if (op.hasInterface<DifferentiableOpInterface>()) {
      EXPECT_TRUE(covered.count(op.getStringRef().str()))
          << op.getStringRef().str() << " has no case in GradientCases.cpp";
    }
}
