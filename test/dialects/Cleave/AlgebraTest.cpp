// Compares the answers of AlgebraOpInterface about ops in formulas with the gradients and the code of the ops.
#include "test/dialects/Cleave/GradientCases.h"
#include "test/dialects/Cleave/ReferenceProgram.h"

#include "dialects/Cleave/IR/Algebra.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

using namespace cleave;
using namespace cleave::test;

namespace {

mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &source) {
  return mlir::parseSourceString<mlir::ModuleOp>(source, &referenceContext());
}

mlir::Operation *firstOp(mlir::ModuleOp module) {
  return &module.lookupSymbol<mlir::func::FuncOp>("f").getBody().front().front();
}

// True if the gradient of operand `number` is computed from that operand or from the op's result.
bool gradientUses(mlir::Operation *op, unsigned number) {
  mlir::OpBuilder builder(op->getBlock()->getTerminator());
  mlir::Operation *before = op->getBlock()->getTerminator()->getPrevNode();
  llvm::SmallVector<mlir::Value> seeds, gradients(op->getNumOperands());
  for (mlir::Type type : op->getResultTypes())
    seeds.push_back(op->getBlock()->addArgument(type, op->getLoc()));
  EXPECT_TRUE(mlir::succeeded(llvm::cast<DifferentiableOpInterface>(op).buildVJP(builder, seeds, gradients)));
  llvm::SmallVector<mlir::Value> open = {gradients[number]};
  std::set<void *> seen;
  while (!open.empty()) {
    mlir::Value value = open.pop_back_val();
    if (!value || !seen.insert(value.getAsOpaquePointer()).second)
      continue;
    if (value == op->getOperand(number) || value == op->getResult(0))
      return true;
    if (mlir::Operation *maker = value.getDefiningOp(); maker && before->isBeforeInBlock(maker))
      llvm::append_range(open, maker->getOperands());
  }
  return false;
}

TEST(Algebra, GradientsAgreeWithWhatOpsSay) {
  std::set<std::string> linear;
  // In the cases of select the second value is zero, so select is linear.
  for (const GradientCase &test : gradientCases()) {
    auto module = parse(forwardSource(test));
    ASSERT_TRUE(module) << forwardSource(test);
    mlir::Operation *op = firstOp(*module);
    if (!llvm::isa<AlgebraOpInterface>(op) || !llvm::isa<DifferentiableOpInterface>(op))
      continue;
    SCOPED_TRACE(test.op + " " + test.operands);
    for (const LinearOperand &one : linearOperands(op)) {
      EXPECT_FALSE(gradientUses(op, one.number)) << "operand " << one.number << " is said to be linear";
      linear.insert(test.op);
    }
  }
  for (const char *name : {"cleave.add", "cleave.sub", "cleave.mul", "cleave.div", "cleave.neg", "cleave.cast",
                           "cleave.reshape", "cleave.transpose", "cleave.broadcast", "cleave.slice", "cleave.reduce"})
    EXPECT_TRUE(linear.count(name)) << name << " was not seen to be linear";
}

// An op without the interface may be linear. But if an op has the interface and a linear gradient, it must say that it
// is linear. Otherwise a formula would end there without a reason.
TEST(Algebra, NothingLinearIsLeftOutWhereTheInterfaceIs) {
  for (const GradientCase &test : gradientCases()) {
    auto module = parse(forwardSource(test));
    mlir::Operation *op = firstOp(*module);
    if (!llvm::isa<AlgebraOpInterface>(op) || !llvm::isa<DifferentiableOpInterface>(op) || test.op == "cleave.select")
      continue; // a choice is linear if the other value is zero
    std::set<unsigned> said;
    for (const LinearOperand &one : linearOperands(op))
      said.insert(one.number);
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      bool isFloat =
          llvm::isa<mlir::FloatType>(llvm::cast<mlir::RankedTensorType>(op->getOperand(i).getType()).getElementType());
      auto fresh = parse(forwardSource(test));
      if (isFloat && !said.count(i)) {
        EXPECT_TRUE(gradientUses(firstOp(*fresh), i)) << test.op << " " << test.operands << ": operand " << i;
      }
    }
  }
}

Array randomArray(size_t count, double low, double high, std::mt19937 &random) {
  std::uniform_real_distribution<double> number(low, high);
  Array values(count);
  for (double &value : values)
    value = number(random);
  return values;
}

double sumOf(const Array &values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// factor * (the sum of the operand, times or divided by its scale) is the sum of the results, if each element of the
// operand goes into one element of the result.
TEST(Algebra, FactorsAreThoseOfTheCode) {
  std::mt19937 random(7);
  std::set<std::string> checked;
  for (const GradientCase &test : gradientCases()) {
    auto module = parse(forwardSource(test));
    mlir::Operation *op = firstOp(*module);
    llvm::SmallVector<LinearOperand, 2> linear = linearOperands(op);
    if (linear.empty() || linear[0].condition || op->getNumResults() != 1)
      continue;
    Arrays inputs;
    for (mlir::Value operand : op->getOperands())
      inputs.push_back(
          randomArray(llvm::cast<mlir::RankedTensorType>(operand.getType()).getNumElements(), 0.5, 2, random));
    auto valueOf = [&](mlir::Value operand) { return inputs[llvm::cast<mlir::BlockArgument>(operand).getArgNumber()]; };
    auto program = ReferenceProgram::compile(forwardSource(test));
    ASSERT_TRUE(program) << forwardSource(test);
    double got = sumOf(program->run("f", inputs)[0]), expected = 0;
    bool isWhole = true;
    for (const LinearOperand &one : linear) {
      Array terms = valueOf(op->getOperand(one.number));
      for (size_t i = 0; one.scale && i < terms.size(); ++i)
        terms[i] = one.divides ? terms[i] / valueOf(one.scale)[i] : terms[i] * valueOf(one.scale)[i];
      double sum = one.factor * sumOf(terms);
      expected = addsOperands(op) ? expected + sum : sum;
      isWhole &= one.usesEachOnce;
    }
    SCOPED_TRACE(test.op + " " + test.operands);
    if (isWhole)
      EXPECT_NEAR(got, expected, 1e-5 * std::abs(expected));
    else
      EXPECT_GT(std::abs(got - expected), 1e-3) << "some element is repeated or left out";
    checked.insert(test.op);
  }
  EXPECT_GE(checked.size(), 11u);
}

// Parses the one op of a line as @f, with arguments %0, %1, ...
mlir::OwningOpRef<mlir::ModuleOp> parseBody(const std::string &arguments, const std::string &body) {
  return parse("func.func @f(" + arguments + ") {\n" + body + "\n  return\n}\n");
}

mlir::Operation *lastOp(mlir::ModuleOp module) {
  return module.lookupSymbol<mlir::func::FuncOp>("f").getBody().front().getTerminator()->getPrevNode();
}

TEST(Algebra, AChoiceIsLinearWhereTheOtherValueIsZero) {
  auto module =
      parseBody("%c: tensor<4xi1>, %x: tensor<4xf32>", "%z = cleave.constant dense<0.0> : tensor<4xf32>\n"
                                                       "%0 = cleave.select %c, %z, %x : tensor<4xi1>, tensor<4xf32>");
  ASSERT_TRUE(module);
  auto linear = linearOperands(lastOp(*module));
  ASSERT_EQ(linear.size(), 1u);
  EXPECT_EQ(linear[0].number, 2u);
  EXPECT_FALSE(linear[0].isWhere);
  auto other =
      parseBody("%c: tensor<4xi1>, %x: tensor<4xf32>", "%z = cleave.constant dense<1.0> : tensor<4xf32>\n"
                                                       "%0 = cleave.select %c, %z, %x : tensor<4xi1>, tensor<4xf32>");
  EXPECT_TRUE(linearOperands(lastOp(*other)).empty());
}

TEST(Algebra, ABoundIsReadFromAComparison) {
  // x <= 0 ? 1 : x
  auto module = parseBody("%x: tensor<f32>", "%z = cleave.constant dense<0.0> : tensor<f32>\n"
                                             "%one = cleave.constant dense<1.0> : tensor<f32>\n"
                                             "%c = cleave.compare ge %z, %x : tensor<f32>\n"
                                             "%0 = cleave.select %c, %one, %x : tensor<i1>, tensor<f32>");
  ASSERT_TRUE(module);
  auto bounds = numberBounds(lastOp(*module));
  ASSERT_EQ(bounds.size(), 1u);
  EXPECT_EQ(bounds[0].kind, NumberBound::Where);
  EXPECT_EQ(bounds[0].predicate, Predicate::Le);
  EXPECT_EQ(getConstantNumber(bounds[0].number), 0.0);
  EXPECT_EQ(getConstantNumber(bounds[0].other), 1.0);
}

TEST(Algebra, QuotientsOfWholeNumbersAndTruthValuesAreNotLinear) {
  auto quotient = parseBody("%x: tensor<4xi64>, %y: tensor<4xi64>", "%0 = cleave.div %x, %y : tensor<4xi64>");
  EXPECT_TRUE(linearOperands(lastOp(*quotient)).empty());
  auto truth = parseBody("%x: tensor<4xi1>", "%0 = cleave.cast %x : tensor<4xi1> -> tensor<4xf32>");
  EXPECT_TRUE(linearOperands(lastOp(*truth)).empty());
  EXPECT_TRUE(carriedOperand(lastOp(*truth)));
  auto cut = parseBody("%x: tensor<4xf32>", "%0 = cleave.cast %x : tensor<4xf32> -> tensor<4xi64>");
  EXPECT_TRUE(linearOperands(lastOp(*cut)).empty());
  auto number = parseBody("%x: tensor<4xi64>", "%0 = cleave.cast %x : tensor<4xi64> -> tensor<4xf32>");
  EXPECT_EQ(linearOperands(lastOp(*number)).size(), 1u);
  auto maximum = parseBody("%x: tensor<4xf32>", "%0 = cleave.reduce max %x, [0] : tensor<4xf32> -> tensor<f32>");
  EXPECT_TRUE(linearOperands(lastOp(*maximum)).empty());
}

// Only a reshape has its operand's bytes in another shape. Its strides say where samples go, because it has no loops.
TEST(Algebra, AReshapedOperandHasTheBytesOfTheResult) {
  auto reshape = parseBody("%x: tensor<2x6xf32>", "%0 = cleave.reshape %x : tensor<2x6xf32> -> tensor<3x4xf32>");
  EXPECT_EQ(reshapedOperand(lastOp(*reshape)), lastOp(*reshape)->getOperand(0));
  for (const char *other :
       {"%0 = cleave.broadcast %x, [1] : tensor<4xf32> -> tensor<1x4xf32>",
        "%0 = cleave.cast %x : tensor<4xf32> -> tensor<4xf64>",
        "%0 = cleave.transpose %x, [0] : tensor<4xf32> -> tensor<4xf32>",
        "%0 = cleave.slice %x, [0], [2], [1] : tensor<4xf32> -> tensor<2xf32>",
        "%0 = cleave.concat %x dim = 0 : tensor<4xf32> -> tensor<4xf32>", "%0 = cleave.neg %x : tensor<4xf32>"}) {
    auto module = parseBody("%x: tensor<4xf32>", other);
    ASSERT_TRUE(module) << other;
    EXPECT_FALSE(reshapedOperand(lastOp(*module))) << other;
  }
}

TEST(Algebra, AValueIsFoundThroughReshapesAsFarAsTheyPass) {
  auto module = parseBody("%x: tensor<2x6xf32>", "%0 = cleave.reshape %x : tensor<2x6xf32> -> tensor<12xf32>\n"
                                                 "%1 = cleave.reshape %0 : tensor<12xf32> -> tensor<3x4xf32>");
  mlir::Value last = lastOp(*module)->getResult(0), between = lastOp(*module)->getOperand(0);
  mlir::Value argument = between.getDefiningOp()->getOperand(0);
  EXPECT_EQ(throughReshapes(last), argument);
  EXPECT_EQ(throughReshapes(argument), argument);
  auto isFlat = [](mlir::Value operand, mlir::Value) {
    return llvm::cast<mlir::RankedTensorType>(operand.getType()).getRank() == 1;
  };
  EXPECT_EQ(throughReshapes(last, isFlat), between);
}

// Which elements ops read or write along a dimension without a loop.
TEST(Algebra, OpsSayWhichElementsTheyRead) {
  auto concat = parseBody("%x: tensor<2x6xf32>",
                          "%0 = cleave.concat %x, %x dim = 1 : tensor<2x6xf32>, tensor<2x6xf32> -> tensor<2x12xf32>");
  EXPECT_EQ(joinedDim(lastOp(*concat)), 1);
  auto slice = parseBody("%x: tensor<8x4xf32>",
                         "%0 = cleave.slice %x, [2, 0], [3, 4], [2, 1] : tensor<8x4xf32> -> tensor<3x4xf32>");
  auto starts = startsOf(lastOp(*slice));
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(starts[0], (llvm::ArrayRef<int64_t>{2, 0}));
  EXPECT_EQ(starts[1], (llvm::ArrayRef<int64_t>{2, 1}));
  auto pad = parseBody("%x: tensor<8x4xf32>", "%0 = cleave.pad %x, [1, 0], [2, 0], [0, 0], value = 0.0 : "
                                              "tensor<8x4xf32> -> tensor<11x4xf32>");
  ASSERT_EQ(startsOf(lastOp(*pad)).size(), 1u);
  EXPECT_EQ(startsOf(lastOp(*pad))[0], (llvm::ArrayRef<int64_t>{1, 0}));
  EXPECT_FALSE(joinedDim(lastOp(*pad)) || joinedDim(lastOp(*slice)));
  auto iota = parseBody("", "%0 = cleave.iota dim = 1 : tensor<8x4xi64>");
  EXPECT_EQ(countedDim(lastOp(*iota)), 1);
  auto part = parseBody("%o: tensor<2xi64>", "%0 = cleave.iota dim = 1 origin %o : tensor<2xi64> : tensor<8x4xi64>");
  EXPECT_FALSE(countedDim(lastOp(*part))) << "it counts from the origin";
  auto take = parseBody("%t: tensor<8x4xf32>, %i: tensor<3xi64>",
                        "%0 = cleave.take %t, %i, dim = 0 : tensor<8x4xf32>, tensor<3xi64> -> tensor<3x4xf32>");
  auto read = tableReadOf(lastOp(*take));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->table, lastOp(*take)->getOperand(0));
  EXPECT_EQ(read->indices, lastOp(*take)->getOperand(1));
  EXPECT_FALSE(countedDim(lastOp(*take)) || tableReadOf(lastOp(*iota)) || countedDim(nullptr) || tableReadOf(nullptr));
}

// The parts of a cross-entropy: a comparison, a choice, and logarithms of probabilities.
TEST(Algebra, OpsSayWhatTheyCompareAndChoose) {
  auto compare = parseBody("%x: tensor<4xi64>, %y: tensor<4xi64>", "%0 = cleave.compare ne %x, %y : tensor<4xi64>");
  auto comparison = comparisonOf(lastOp(*compare));
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->predicate, Predicate::Ne);
  EXPECT_EQ(comparison->lhs, lastOp(*compare)->getOperand(0));
  EXPECT_EQ(comparison->rhs, lastOp(*compare)->getOperand(1));
  auto select = parseBody("%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>",
                          "%0 = cleave.select %c, %x, %y : tensor<4xi1>, tensor<4xf32>");
  mlir::Operation *choice = lastOp(*select);
  EXPECT_EQ(choicesOf(choice), (llvm::SmallVector<mlir::Value, 2>{choice->getOperand(1), choice->getOperand(2)}));
  auto softmax = parseBody("%x: tensor<8x4xf32>", "%0 = cleave.log_softmax %x, dim = 1 : tensor<8x4xf32>");
  EXPECT_EQ(logProbabilityDim(lastOp(*softmax)), 1);
  EXPECT_FALSE(comparisonOf(choice) || logProbabilityDim(choice) || comparisonOf(nullptr) ||
               logProbabilityDim(nullptr));
  EXPECT_TRUE(choicesOf(lastOp(*compare)).empty() && choicesOf(nullptr).empty());
}

// Facts about samples that loops do not show: drawn numbers, and groups that an op states itself.
TEST(Algebra, OpsSayWhatTheyHaveToDoWithSamples) {
  auto drawn = parseBody("%s: tensor<i64>", "%0 = cleave.random_uniform %s, %s {site = 3 : i64, global_shape = "
                                            "array<i64: 8, 4>} : tensor<i64>, tensor<i64> -> tensor<8x4xf32>");
  EXPECT_TRUE(drawsNumbers(lastOp(*drawn)));
  EXPECT_FALSE(statesItsGroup(lastOp(*drawn), 0));
  auto scattered =
      parseBody("%s: tensor<i64>, %i: tensor<8xi64>",
                "%0 = cleave.random_uniform_at %s, %s, %i : tensor<i64>, tensor<i64>, tensor<8xi64> -> tensor<8xf32>");
  EXPECT_TRUE(drawsNumbers(lastOp(*scattered)));
  for (bool drops : {false, true}) {
    std::string q = "tensor<1x1x2x2xf32>", results = " -> (" + q + ", tensor<1x1x2xf32>, tensor<1x1x2xf32>)";
    std::string types = "(" + q + ", " + q + ", " + q + (drops ? ", tensor<i64>, tensor<i64>, tensor<1x1xi64>)" : ")");
    auto attention = parseBody("%q: " + q + ", %s: tensor<i64>, %f: tensor<1x1xi64>",
                               std::string("%0, %1, %2 = cleave.attention %q, %q, %q") +
                                   (drops ? " dropout(%s, %s, %f), scale = 1.0 {rate = 0.5} : " : ", scale = 1.0 : ") +
                                   types + results);
    EXPECT_EQ(drawsNumbers(lastOp(*attention)), drops);
  }
  auto normalized =
      parseBody("%x: tensor<8x4xf32>", "%0, %1, %2 = cleave.normalize %x, [0], epsilon = 1.0e-5 : "
                                       "tensor<8x4xf32> -> tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>");
  EXPECT_FALSE(drawsNumbers(lastOp(*normalized)));
  EXPECT_TRUE(statesItsGroup(lastOp(*normalized), 0));
  for (unsigned statistic : {1u, 2u})
    EXPECT_FALSE(statesItsGroup(lastOp(*normalized), statistic)) << "it is made of all samples of the group";
  auto sum = parseBody("%x: tensor<8x4xf32>", "%0 = cleave.reduce sum %x, [0] : tensor<8x4xf32> -> tensor<4xf32>");
  EXPECT_FALSE(drawsNumbers(lastOp(*sum)) || statesItsGroup(lastOp(*sum), 0));
}

// An element of the pulled back value is the element of the result that depends on the operand's element.
TEST(Algebra, PullingBackIsTheGradientOfASum) {
  struct Case {
    std::string op, in, out;
    std::vector<int64_t> leftOut;
    std::vector<int64_t> shape;
  };
  for (const Case &test : {Case{"cleave.transpose %x, [2, 0, 1]", "2x3x4x", "4x2x3x", {}, {2, 3, 4}},
                           Case{"cleave.reduce sum %x, [0, 2]", "2x3x4x", "3x", {}, {2, 3, 4}},
                           Case{"cleave.reduce sum %x, [0, 2]", "2x3x4x", "3x", {2}, {2, 3}},
                           Case{"cleave.reshape %x", "2x6x", "3x4x", {}, {2, 6}}}) {
    std::string in = "tensor<" + test.in + "f64>", out = "tensor<" + test.out + "f64>";
    auto module = parse("func.func @f(%x: " + in + ", %g: " + out + ") -> " + out + " {\n  %r = " + test.op + " : " +
                        in + " -> " + out + "\n  return %g : " + out + "\n}\n");
    ASSERT_TRUE(module);
    auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
    mlir::Operation *op = firstOp(*module);
    mlir::OpBuilder builder(function.getBody().front().getTerminator());
    mlir::Value pulled =
        llvm::cast<AlgebraOpInterface>(op).pullBack(builder, op->getLoc(), function.getArgument(1), 0, test.leftOut);
    EXPECT_EQ(llvm::cast<mlir::RankedTensorType>(pulled.getType()).getShape(), llvm::ArrayRef(test.shape));
    if (!test.leftOut.empty())
      continue;
    llvm::SmallVector<mlir::Value> gradients(1);
    ASSERT_TRUE(mlir::succeeded(
        llvm::cast<DifferentiableOpInterface>(op).buildVJP(builder, {function.getArgument(1)}, gradients)));
    mlir::Operation *terminator = function.getBody().front().getTerminator();
    terminator->setOperands({pulled, gradients[0]});
    function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(),
                                                     mlir::TypeRange{pulled.getType(), gradients[0].getType()}));
    function.setResAttrsAttr(nullptr);
    // Compiling lowers the module, including the function.
    size_t elements = llvm::cast<mlir::RankedTensorType>(function.getArgument(1).getType()).getNumElements();
    auto program = ReferenceProgram::compile(*module);
    ASSERT_TRUE(program);
    std::mt19937 random(3);
    Arrays results =
        program->run("f", {Array(24 / (test.in == "2x6x" ? 2 : 1), 1.0), randomArray(elements, -1, 1, random)});
    EXPECT_EQ(results[0], results[1]) << test.op;
  }
}

} // namespace
