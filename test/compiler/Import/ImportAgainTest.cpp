// Imports the graph of one file with several sizes. Each import has its own types and constants, and refers to no bytes
// of the caller.
#include "compiler/Import/ONNX/File/Proto.h"
#include "compiler/Import/ONNX/Importer.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

using namespace cleave;

namespace {

// y = x * w, where x has `batch` rows.
std::string makeModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("g");
  auto addPort = [](onnx::ValueInfoProto &port, const char *name) {
    port.set_name(name);
    auto *type = port.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_param("batch");
    type->mutable_shape()->add_dim()->set_dim_value(3);
  };
  addPort(*graph.add_input(), "x");
  addPort(*graph.add_output(), "y");
  onnx::TensorProto &weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(3);
  const float values[] = {0.5f, 0.25f, 2.0f};
  weight.set_raw_data(std::string(reinterpret_cast<const char *>(values), sizeof(values)));
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type("Mul");
  node.set_name("/mul");
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  return model.SerializeAsString();
}

int64_t batchOf(const ImportedModel &model) {
  auto function = (*model.module)->getRegion(0).front().getOps<mlir::func::FuncOp>().begin();
  return llvm::cast<mlir::RankedTensorType>((*function).getArgumentTypes()[0]).getDimSize(0);
}

TEST(ImportAgainTest, OtherSizesOfOneFile) {
  mlir::MLIRContext context;
  context.loadDialect<CleaveDialect, mlir::func::FuncDialect>();
  ImportOptions options;
  options.dims["batch"] = 4;
  std::string bytes = makeModel();
  auto first = importONNXFromMemory(context, bytes, "", options);
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  bytes.assign(bytes.size(), '\xff'); // nobody reads them any more
  options.dataRanks = 2;
  auto second = importAgain(context, *first, options);
  ASSERT_TRUE(bool(second)) << llvm::toString(second.takeError());
  EXPECT_EQ(batchOf(*first), 4);
  EXPECT_EQ(batchOf(*second), 8);
  const WeightTensor *weight = first->weights.find("w"), *again = second->weights.find("w");
  ASSERT_TRUE(weight && again);
  EXPECT_EQ(weight->bytes.data(), again->bytes.data()) << "there is one copy of a weight";
}

// The second import does not depend on the first one.
TEST(ImportAgainTest, TheFirstModelMayGo) {
  mlir::MLIRContext context;
  context.loadDialect<CleaveDialect, mlir::func::FuncDialect>();
  ImportOptions options;
  options.dims["batch"] = 4;
  std::optional<ImportedModel> first(llvm::cantFail(importONNXFromMemory(context, makeModel(), "", options)));
  ImportedModel second = llvm::cantFail(importAgain(context, *first, options));
  first.reset();
  float value = 0;
  std::memcpy(&value, second.weights.find("w")->bytes.data() + 2 * sizeof(float), sizeof(float));
  EXPECT_EQ(value, 2.0f);
}

TEST(ImportAgainTest, ARefusalLeavesTheFirstAsItIs) {
  mlir::MLIRContext context;
  context.loadDialect<CleaveDialect, mlir::func::FuncDialect>();
  ImportOptions options;
  options.dims["batch"] = 4;
  ImportedModel first = llvm::cantFail(importONNXFromMemory(context, makeModel(), "", options));
  options.dims.clear();
  auto second = importAgain(context, first, options);
  ASSERT_FALSE(bool(second));
  EXPECT_NE(llvm::toString(second.takeError()).find("batch"), std::string::npos);
  EXPECT_EQ(batchOf(first), 4);
}

} // namespace
