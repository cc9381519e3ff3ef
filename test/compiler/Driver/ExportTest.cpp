#include "compiler/Driver/Export/Export.h"
#include "compiler/Import/ONNX/File/Proto.h"
#include "runtime/state/CheckpointIndex.h"
#include "runtime/state/SafeTensors.h"
#include "test/runtime/TempDir.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

using namespace cleave;
using test::TempDir;

namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

std::string bytesOf(const std::vector<float> &values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

const std::vector<float> trained = {5, 6, 7}, kept = {1, 2, 3, 4};

// Writes a checkpoint of `w`, which has three elements. `model` is the file that it was trained from; empty: unknown.
std::string writeCheckpoint(const TempDir &dir, const std::string &model = "") {
  std::string path = dir / "checkpoint";
  std::filesystem::create_directory(path);
  rt::TensorView w{"w", rt::ElementType::f32, {3}, reinterpret_cast<const std::byte *>(trained.data()), 12};
  EXPECT_TRUE(rt::writeSafeTensors(path + "/" + rt::kFullCheckpointFile, {w}).isOk());
  rt::CheckpointIndex index;
  if (!model.empty())
    index.run["model"] = model;
  index.tensors.push_back(
      {"w", "", "parameter", rt::ElementType::f32, {3}, {}, {{rt::kFullCheckpointFile, "w", 0, 3}}});
  EXPECT_TRUE(rt::listParts(path, &index).isOk());
  EXPECT_TRUE(rt::writeCheckpointIndex(path + "/" + rt::kCheckpointIndexFile, index).isOk());
  return path;
}

// Writes a model with `w`, and with `extra` (four elements, which no checkpoint has). `entries` are the external data
// of `extra`.
std::string writeModel(const TempDir &dir, const Entries &entries) {
  onnx::ModelProto model;
  onnx::TensorProto &w = *model.mutable_graph()->add_initializer(), &extra = *model.mutable_graph()->add_initializer();
  w.set_name("w");
  w.add_dims(3);
  w.set_raw_data(std::string(12, '\0'));
  extra.set_name("extra");
  extra.add_dims(4);
  extra.set_data_location(onnx::TensorProto::EXTERNAL);
  for (onnx::TensorProto *tensor : {&w, &extra})
    tensor->set_data_type(onnx::TensorProto::FLOAT);
  for (const auto &[key, value] : entries) {
    extra.add_external_data()->set_key(key);
    extra.mutable_external_data()->rbegin()->set_value(value);
  }
  std::filesystem::create_directory(dir / "model");
  return dir.write("model/m.onnx", model.SerializeAsString());
}

std::string runExport(const TempDir &dir, const std::string &model, const std::string &output,
                      uint64_t limit = UINT64_MAX) {
  std::string said;
  llvm::raw_string_ostream out(said);
  return llvm::toString(exportCheckpoint({writeCheckpoint(dir), model, output, {}}, out, limit));
}

onnx::ModelProto readModel(const std::string &path) {
  onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(model.ParseFromIstream(&file));
  return model;
}

// The contents of the file of `extra`: eight other bytes, then its data.
const std::string shifted = std::string(8, 'x') + bytesOf(kept);

TEST(Export, KeepsExternalData) {
  for (const Entries &entries : {Entries{{"location", "d.bin"}, {"offset", "8"}, {"length", "16"}},
                                 Entries{{"location", "./d.bin"}, {"offset", "8"}}}) {
    TempDir dir;
    std::string model = writeModel(dir, entries);
    dir.write("model/d.bin", shifted + "more");
    ASSERT_EQ(runExport(dir, model, dir / "out.onnx"), "");
    onnx::ModelProto written = readModel(dir / "out.onnx");
    EXPECT_EQ(written.graph().initializer(0).raw_data(), bytesOf(trained));
    EXPECT_EQ(written.graph().initializer(1).raw_data(), bytesOf(kept));
    EXPECT_EQ(written.graph().initializer(1).external_data_size(), 0);
    EXPECT_FALSE(std::filesystem::exists(dir / "out.onnx.data"));
  }
}

// All tensors fit, but the name shows that it is another model.
TEST(Export, RefusesAModelOfAnotherName) {
  TempDir dir;
  std::string model = writeModel(dir, {{"location", "d.bin"}, {"offset", "8"}});
  dir.write("model/d.bin", shifted);
  for (const char *name : {"m.onnx", "other.onnx"}) {
    std::string said;
    llvm::raw_string_ostream out(said);
    std::string error =
        llvm::toString(exportCheckpoint({writeCheckpoint(dir, name), model, dir / "out.onnx", {}}, out, UINT64_MAX));
    bool isSame = name == std::string("m.onnx");
    EXPECT_EQ(error.empty(), isSame) << error;
    EXPECT_EQ(error.find("is of model 'other.onnx'; give the ONNX file that was compiled") != std::string::npos,
              !isSame)
        << error;
    EXPECT_EQ(std::filesystem::exists(dir / "out.onnx"), isSame);
    std::filesystem::remove(dir / "out.onnx");
  }
}

onnx::NodeProto &addNode(onnx::GraphProto &graph, const char *type, const std::vector<std::string> &inputs,
                         const std::vector<std::string> &outputs) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(type);
  for (const std::string &name : inputs)
    node.add_input(name);
  for (const std::string &name : outputs)
    node.add_output(name);
  return node;
}

void setTraining(onnx::NodeProto &node) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name("training_mode");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(1);
}

// In training form, another runtime would normalize by its own batch, and drop elements.
TEST(Export, GraphsAreInInferenceForm) {
  TempDir dir;
  std::string model = writeModel(dir, {{"location", "d.bin"}, {"offset", "8"}});
  dir.write("model/d.bin", shifted);
  onnx::ModelProto training = readModel(model);
  onnx::GraphProto &graph = *training.mutable_graph();
  setTraining(addNode(graph, "BatchNormalization", {"x", "w", "b", "m", "v"}, {"y", "mean", "var"}));
  setTraining(addNode(graph, "BatchNormalization", {"y", "w", "b", "m", "v"}, {"z", "mean2", "var2"}));
  addNode(graph, "Dropout", {"z", "ratio", "true"}, {"out", "mask"});
  setTraining(addNode(graph, "BatchNormalization", {}, {})); // malformed: the export must not crash
  graph.add_output()->set_name("out");
  graph.add_output()->set_name("var2"); // used: its node stays
  training.add_metadata_props()->set_key("cleave.form");
  training.mutable_metadata_props(0)->set_value("training");
  training.add_metadata_props()->set_key("author");
  ASSERT_EQ(runExport(dir, dir.write("model/t.onnx", training.SerializeAsString()), dir / "out.onnx"), "");
  onnx::ModelProto exported = readModel(dir / "out.onnx");
  ASSERT_EQ(exported.metadata_props_size(), 1); // without the statement of the training form
  EXPECT_EQ(exported.metadata_props(0).key(), "author");
  const onnx::GraphProto &written = exported.graph();
  EXPECT_EQ(written.node(0).attribute(0).i(), 0);
  EXPECT_EQ(written.node(0).output_size(), 1);
  EXPECT_EQ(written.node(1).attribute(0).i(), 1);
  EXPECT_EQ(written.node(1).output_size(), 3);
  EXPECT_EQ(written.node(2).input_size(), 2);
  EXPECT_EQ(written.node(2).output_size(), 2);
  EXPECT_EQ(written.node(3).output_size(), 0);
}

TEST(Export, PutsAllBesideAboveTheLimit) {
  TempDir dir;
  std::string model = writeModel(dir, {{"location", "d.bin"}, {"offset", "8"}});
  dir.write("model/d.bin", shifted);
  ASSERT_EQ(runExport(dir, model, dir / "out.onnx", 27), "");
  std::ifstream file(dir / "out.onnx.data", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  onnx::ModelProto written = readModel(dir / "out.onnx");
  for (const onnx::TensorProto &tensor : written.graph().initializer()) {
    ASSERT_EQ(tensor.external_data_size(), 3) << tensor.name();
    EXPECT_EQ(tensor.external_data(0).value(), "out.onnx.data");
    size_t offset = std::stoul(tensor.external_data(1).value()), length = std::stoul(tensor.external_data(2).value());
    EXPECT_EQ(bytes.substr(offset, length), bytesOf(tensor.name() == "w" ? trained : kept));
    EXPECT_EQ(offset % 64, 0u);
  }
}

TEST(Export, RefusesExternalDataThatAreNoneOfTheModel) {
  struct Case {
    Entries entries;
    std::string expected;
  };
  TempDir dir;
  std::string outside = dir.write("secret.bin", shifted);
  for (const Case &one : {
           Case{{{"location", "../secret.bin"}, {"length", "16"}}, "leads out of the model's directory"},
           Case{{{"location", outside}, {"length", "16"}}, "must be a relative path"},
           Case{{{"location", "link.bin"}, {"length", "16"}}, "symbolic link"},
           Case{{{"location", "d.bin"}, {"length", "18446744073709551615"}}, "its shape and type take 16 bytes"},
           Case{{{"location", "d.bin"}, {"length", "0"}}, "its shape and type take 16 bytes"},
           Case{{{"location", "d.bin"}, {"offset", "18446744073709551608"}}, "the tensor lies at offset"},
           Case{{{"location", "d.bin"}, {"offset", "-8"}}, "must be a non-negative integer"},
           Case{{{"location", "absent.bin"}}, "cannot be opened"},
           Case{{}, "must be a relative path"},
       }) {
    std::string model = writeModel(dir, one.entries);
    dir.write("model/d.bin", shifted);
    std::error_code ignored;
    std::filesystem::create_symlink(outside, dir / "model/link.bin", ignored);
    std::string error = runExport(dir, model, dir / "out.onnx");
    EXPECT_EQ(error.rfind("initializer 'extra': ", 0), 0u) << error;
    EXPECT_NE(error.find(one.expected), std::string::npos) << error;
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 0) << error;
    EXPECT_FALSE(std::filesystem::exists(dir / "out.onnx"));
  }
}

TEST(Export, LeavesNothingHalfWritten) {
  TempDir dir;
  std::string model = writeModel(dir, {{"location", "d.bin"}});
  dir.write("model/d.bin", bytesOf(kept));
  std::filesystem::create_directories(dir / "out/m.onnx"); // where the model would be
  EXPECT_NE(runExport(dir, model, dir / "out/m.onnx", 0), "");
  EXPECT_FALSE(std::filesystem::exists(dir / "out/m.onnx.data"));
  std::filesystem::remove(dir / "out/m.onnx");
  std::filesystem::create_directories(dir / "out/m.onnx.data");
  EXPECT_NE(runExport(dir, model, dir / "out/m.onnx", 0), "");
  EXPECT_FALSE(std::filesystem::exists(dir / "out/m.onnx"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "out"), {}), 1);
}

} // namespace
