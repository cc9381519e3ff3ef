// `cleave export`: a checkpoint's tensors put back into the ONNX file they came from.
//
// The graph is left as it is; only the initializers that the checkpoint holds change. Beyond 1 GiB of weights the
// file would meet protobuf's 2 GiB bound, so that tensors then go to OUTPUT.data as ONNX external data.

#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Overwrites.h"
#include "compiler/Import/ONNX/Proto.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/Usage.h"
#include "runtime/state/AtomicFile.h"
#include "runtime/state/Checkpoint.h"
#include "runtime/state/FloatConversion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <fstream>

using namespace cleave;

namespace {

constexpr uint64_t embeddedLimit = 1ull << 30;

llvm::Expected<onnx::ModelProto> readModel(llvm::StringRef path) {
  std::ifstream file(path.str(), std::ios::binary);
  onnx::ModelProto model;
  if (!file)
    return makeError(path + ": cannot read");
  if (!model.ParseFromIstream(&file))
    return makeError(path + ": not an ONNX model (the protobuf does not parse)");
  return model;
}

std::optional<rt::ElementType> elementType(int onnxType) {
  switch (onnxType) {
  case onnx::TensorProto::FLOAT:
    return rt::ElementType::f32;
  case onnx::TensorProto::DOUBLE:
    return rt::ElementType::f64;
  case onnx::TensorProto::FLOAT16:
    return rt::ElementType::f16;
  case onnx::TensorProto::BFLOAT16:
    return rt::ElementType::bf16;
  default:
    return std::nullopt;
  }
}

// Where tensors that do not fit into the file go.
struct ExternalData {
  bool used = false;
  std::string location; // relative to the model
  std::string bytes;
};

void clearData(onnx::TensorProto &tensor) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_raw_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
}

void addEntry(onnx::TensorProto &tensor, const char *key, const std::string &value) {
  auto *entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

void store(onnx::TensorProto &tensor, llvm::StringRef bytes, ExternalData &external) {
  clearData(tensor);
  if (!external.used) {
    tensor.set_raw_data(bytes.data(), bytes.size());
    return;
  }
  external.bytes.resize((external.bytes.size() + 63) / 64 * 64);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  addEntry(tensor, "location", external.location);
  addEntry(tensor, "offset", std::to_string(external.bytes.size()));
  addEntry(tensor, "length", std::to_string(bytes.size()));
  external.bytes.append(bytes.data(), bytes.size());
}

// Whether the name is another one of a tensor (--tie), which may then be transposed.
bool isAlias(const rt::CheckpointTensors &tensors, const std::string &name) {
  for (const rt::CheckpointTensor &tensor : tensors.checkpoint->index().tensors)
    if (llvm::is_contained(tensor.aliases, name))
      return true;
  return false;
}

std::string transpose(const std::string &bytes, int64_t rows, int64_t columns, size_t width) {
  std::string result(bytes.size(), '\0');
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      std::memcpy(result.data() + (j * rows + i) * width, bytes.data() + (i * columns + j) * width, width);
  return result;
}

llvm::Error replace(onnx::TensorProto &tensor, const rt::TensorView &value, bool mayTranspose, ExternalData &external) {
  auto type = elementType(tensor.data_type());
  bool isTransposed = mayTranspose && tensor.dims_size() == 2 && value.shape.size() == 2 &&
                      tensor.dims(0) != tensor.dims(1) && tensor.dims(0) == value.shape[1] &&
                      tensor.dims(1) == value.shape[0];
  bool sameShape = tensor.dims_size() == static_cast<int>(value.shape.size()) &&
                   std::equal(value.shape.begin(), value.shape.end(), tensor.dims().begin());
  if (!(sameShape || isTransposed) || !type || !rt::isConvertible(value.type, *type))
    return makeError("initializer '" + tensor.name() +
                     "' has another type or shape in the checkpoint; was the checkpoint made from this model?");
  // The file keeps its types, whatever precision the model was trained in.
  size_t elements = value.bytes / rt::elementSize(value.type);
  std::string bytes(elements * rt::elementSize(*type), '\0');
  rt::convertElements(value.type, value.data, *type, reinterpret_cast<std::byte *>(bytes.data()), elements);
  if (isTransposed)
    bytes = transpose(bytes, value.shape[0], value.shape[1], rt::elementSize(*type));
  store(tensor, bytes, external);
  return llvm::Error::success();
}

// Relative to the model; empty: none.
llvm::StringRef externalLocation(const onnx::TensorProto &tensor) {
  for (const auto &entry : tensor.external_data())
    if (entry.key() == "location")
      return entry.value();
  return {};
}

// A tensor that keeps its value, but whose external data would be looked for beside the new file.
llvm::Error embed(onnx::TensorProto &tensor, llvm::StringRef modelPath) {
  uint64_t offset = 0, length = 0;
  for (const auto &entry : tensor.external_data()) {
    if (entry.key() == "offset")
      offset = std::strtoull(entry.value().c_str(), nullptr, 10);
    if (entry.key() == "length")
      length = std::strtoull(entry.value().c_str(), nullptr, 10);
  }
  llvm::SmallString<256> file(llvm::sys::path::parent_path(modelPath));
  llvm::sys::path::append(file, externalLocation(tensor));
  std::ifstream stream(file.str().str(), std::ios::binary);
  std::string bytes(length, '\0');
  if (!stream.seekg(static_cast<std::streamoff>(offset)) ||
      !stream.read(bytes.data(), static_cast<std::streamsize>(length)))
    return makeError("initializer '" + tensor.name() + "': cannot read its external data in " + file.str());
  clearData(tensor);
  tensor.set_raw_data(bytes);
  return llvm::Error::success();
}

// The output beside what is read: the model, its external data, and the checkpoint's directory.
llvm::Error checkOutput(llvm::StringRef output, llvm::StringRef modelPath, const onnx::ModelProto &model,
                        const std::string &checkpoint) {
  std::vector<ReadFile> read = {{modelPath.str(), "the file of --model"}};
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (llvm::StringRef location = externalLocation(tensor); !location.empty()) {
      llvm::SmallString<256> file(llvm::sys::path::parent_path(modelPath));
      llvm::sys::path::append(file, location);
      read.push_back({file.str().str(), "external data of the model"});
    }
  if (llvm::Error error = checkOverwrites("-o", {output.str(), output.str() + ".data"}, read))
    return error;
  llvm::StringRef folder = llvm::sys::path::parent_path(output);
  bool isInside = false;
  llvm::sys::fs::equivalent(folder.empty() ? "." : folder, checkpoint, isInside);
  return isInside ? usageError("-o", "'" + output + "' lies inside the checkpoint " + checkpoint +
                                         "; give a name outside of it")
                  : llvm::Error::success();
}

llvm::Error toError(rt::Status status) { return status.isOk() ? llvm::Error::success() : makeError(status.message()); }

} // namespace

llvm::Error cleave::exportCheckpoint(llvm::StringRef checkpoint, llvm::StringRef modelPath, llvm::StringRef output,
                                     llvm::raw_ostream &out) {
  rt::CheckpointTensors tensors;
  if (llvm::Error error = toError(rt::loadCheckpointTensors(checkpoint.str(), &tensors)))
    return error;
  auto model = readModel(modelPath);
  if (!model)
    return model.takeError();

  if (llvm::Error error = checkOutput(output, modelPath, *model, tensors.path))
    return error;
  uint64_t total = 0;
  for (const auto &[name, value] : tensors.byName)
    total += value.bytes;
  ExternalData external{total > embeddedLimit, llvm::sys::path::filename(output).str() + ".data", {}};

  size_t replaced = 0;
  for (onnx::TensorProto &tensor : *model->mutable_graph()->mutable_initializer()) {
    auto found = tensors.byName.find(tensor.name());
    bool kept = found == tensors.byName.end();
    if (kept && tensor.data_location() != onnx::TensorProto::EXTERNAL)
      continue;
    if (llvm::Error error =
            kept ? embed(tensor, modelPath) : replace(tensor, found->second, isAlias(tensors, tensor.name()), external))
      return error;
    replaced += !kept;
  }
  if (replaced == 0)
    return makeError("no initializer of " + modelPath + " is in checkpoint " + checkpoint +
                     "; was the checkpoint made from this model?");
  if (external.used)
    if (llvm::Error error = toError(rt::writeFileAtomically(output.str() + ".data", external.bytes)))
      return error;
  if (llvm::Error error = toError(rt::writeFileAtomically(output.str(), model->SerializeAsString())))
    return error;
  out << "wrote " << output << ": " << replaced << " initializers from " << tensors.path << "\n";
  return llvm::Error::success();
}
