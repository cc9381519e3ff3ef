// `cleave export` writes a checkpoint's tensors into the ONNX file that they came from, or into one safetensors file.
//
// The initializers that the checkpoint contains are replaced, and external data are copied. The graph is written in
// inference form. With --outputs it is reduced to the nodes that these outputs need. If there are too many bytes for
// protobuf's limit of 2 GiB, tensors are written to OUTPUT.data as ONNX external data.

#include "compiler/Driver/Export/Export.h"

#include "compiler/Driver/Export/InferenceForm.h"
#include "compiler/Driver/Export/KeptOutputs.h"
#include "compiler/Driver/Files/InputGuard.h"
#include "compiler/Driver/Files/OutputPath.h"
#include "compiler/Import/ONNX/File/ExportNotes.h"
#include "compiler/Import/ONNX/File/TensorReader.h"
#include "compiler/Support/InputFile.h"
#include "compiler/Support/StatusError.h"
#include "compiler/Support/Usage.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/ForeignFile.h"
#include "runtime/base/Printable.h"
#include "runtime/state/Checkpoint.h"
#include "runtime/state/FloatConversion.h"
#include "runtime/state/Problems.h"
#include "runtime/state/SafeTensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <climits>
#include <cstring>

using namespace cleave;

namespace {

llvm::Expected<onnx::ModelProto> readModel(llvm::StringRef path) {
  auto file = readInputFile(path, "an ONNX model");
  if (!file)
    return file.takeError();
  onnx::ModelProto model;
  if ((*file)->getBufferSize() > INT_MAX ||
      !model.ParseFromArray((*file)->getBufferStart(), int((*file)->getBufferSize()))) {
    std::string_view bytes((*file)->getBufferStart(), (*file)->getBufferSize());
    llvm::StringRef format = rt::describeFormat(rt::formatOf(bytes));
    return makeError(path + ": " +
                     (format.empty() ? "not an ONNX model (the protobuf does not parse)" : "this is " + format.str()) +
                     "; give the ONNX file that was compiled");
  }
  return model;
}

std::string dataPath(llvm::StringRef output) { return (output + ".data").str(); }

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

// Stores the tensors' new bytes in the model, or one after the other in a file beside it.
class TensorStore {
public:
  llvm::Error openBeside(llvm::StringRef path) {
    location = llvm::sys::path::filename(path).str(); // relative to the model
    return toError(rt::AtomicFile::create(path.str(), &file));
  }

  llvm::Error put(onnx::TensorProto &tensor, llvm::ArrayRef<char> bytes) {
    clearData(tensor);
    if (location.empty()) {
      tensor.set_raw_data(bytes.data(), bytes.size());
      return llvm::Error::success();
    }
    const std::string gap((64 - size % 64) % 64, '\0');
    size += gap.size();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    addEntry(tensor, "location", location);
    addEntry(tensor, "offset", std::to_string(size));
    addEntry(tensor, "length", std::to_string(bytes.size()));
    size += bytes.size();
    rt::Status status = file.write(gap.data(), gap.size());
    return toError(status.isOk() ? file.write(bytes.data(), bytes.size()) : status);
  }

  bool isBeside() const { return !location.empty(); }
  llvm::Error commit() { return toError(file.commit()); }

private:
  std::string location;
  rt::AtomicFile file;
  uint64_t size = 0;
};

// True if the name is an alias of another tensor (--tie). An aliased tensor may be transposed.
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

// An initializer that is stored again, with the checkpoint's value or with its own value from external data. Those
// would otherwise be searched beside the new file.
struct Change {
  onnx::TensorProto *tensor;
  const rt::TensorView *value; // null: use `kept`
  llvm::ArrayRef<char> kept;
};

bool isTransposedIn(const onnx::TensorProto &tensor, const rt::TensorView &value) {
  return tensor.dims_size() == 2 && value.shape.size() == 2 && tensor.dims(0) != tensor.dims(1) &&
         tensor.dims(0) == value.shape[1] && tensor.dims(1) == value.shape[0];
}

bool fits(const onnx::TensorProto &tensor, const rt::TensorView &value, bool mayTranspose) {
  auto type = elementType(tensor.data_type());
  bool sameShape = tensor.dims_size() == static_cast<int>(value.shape.size()) &&
                   std::equal(value.shape.begin(), value.shape.end(), tensor.dims().begin());
  return type && rt::isConvertible(value.type, *type) && (sameShape || (mayTranspose && isTransposedIn(tensor, value)));
}

std::string describe(const onnx::TensorProto &tensor) {
  auto type = elementType(tensor.data_type());
  return type ? rt::toString(*type, rt::Shape(tensor.dims().begin(), tensor.dims().end()))
              : "a type that is not trained";
}

llvm::StringMap<const onnx::TensorProto *> initializersOf(const onnx::ModelProto &model) {
  llvm::StringMap<const onnx::TensorProto *> initializers;
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    initializers[tensor.name()] = &tensor;
  return initializers;
}

// Fails if the checkpoint is of another model. If some of its tensors fitted, the file would have weights of both
// models.
llvm::Error checkFits(const onnx::ModelProto &model, const rt::CheckpointTensors &tensors, llvm::StringRef path) {
  llvm::StringMap<const onnx::TensorProto *> initializers = initializersOf(model);
  rt::Problems problems(/*isStateDict=*/false);
  bool anyFits = false;
  for (const rt::CheckpointTensor &saved : tensors.checkpoint->index().tensors) {
    if (!saved.slot.empty() || saved.role == "scalar" || saved.role == "optimizer")
      continue;
    std::vector<std::string> names = saved.aliases;
    names.insert(names.begin(), saved.name);
    bool isKnown = false;
    for (const std::string &name : names) {
      auto found = initializers.find(name);
      if (found == initializers.end())
        continue;
      isKnown = true;
      const rt::TensorView &value = tensors.byName.find(name)->second;
      if (fits(*found->second, value, isAlias(tensors, name)))
        problems.fits("'" + name + "'");
      else
        problems.mismatch("'" + name + "'", describe(*found->second), rt::toString(value.type, value.shape));
    }
    anyFits |= isKnown;
    if (!isKnown)
      problems.superfluous("'" + saved.name + "'");
  }
  if (!anyFits)
    return makeError("no initializer of " + path + " is in checkpoint " + tensors.path +
                     "; was the checkpoint made from this model?");
  rt::Status status = problems.status(tensors.path + " does not fit " + path.str(), /*superfluousFails=*/true);
  return status.isOk() ? llvm::Error::success()
                       : makeError(status.message() + "; was the checkpoint made from this model?");
}

// Fails if the model has another name than the checkpoint's model, whose tensors may fit by chance. `--resume` requires
// the same name, too.
llvm::Error checkName(const rt::CheckpointTensors &tensors, llvm::StringRef path) {
  const rt::RunFacts &run = tensors.checkpoint->index().run;
  llvm::StringRef name = llvm::sys::path::filename(path);
  auto saved = run.find("model");
  if (saved == run.end() || saved->second.empty() || saved->second == name)
    return llvm::Error::success();
  return makeError("--model " + path + ": checkpoint " + tensors.path + " is of model '" +
                   rt::printable(saved->second) +
                   "'; give the ONNX file that was compiled (a renamed file of the same model needs the name that it "
                   "had)");
}

// Returns a note about tensors that are not trained, and so are not in the checkpoint.
std::vector<std::string> notesOf(const onnx::ModelProto &model, const rt::CheckpointTensors &tensors) {
  std::vector<std::string> notes, kept;
  for (const onnx::TensorProto &tensor : model.graph().initializer()) {
    int64_t elements = 1;
    for (int64_t size : tensor.dims())
      elements *= size;
    if (elementType(tensor.data_type()) && elements > 1 && !tensors.byName.count(tensor.name()))
      kept.push_back(tensor.name());
  }
  if (!kept.empty())
    notes.push_back("the checkpoint does not have these initializers, which keep their values: " +
                    onnx_import::listNames(kept, 8));
  return notes;
}

// Returns the checkpoint's value with the initializer's type and shape. The file keeps its element types, whatever
// precision the model was trained in.
llvm::Expected<std::string> trainedBytes(const Change &change, const rt::CheckpointTensors &tensors) {
  const onnx::TensorProto &tensor = *change.tensor;
  const rt::TensorView &value = *change.value;
  auto type = elementType(tensor.data_type());
  size_t elements = value.bytes / rt::elementSize(value.type);
  std::string bytes(elements * rt::elementSize(*type), '\0');
  rt::Status read = rt::readElements(value, 0, elements, *type, reinterpret_cast<std::byte *>(bytes.data()));
  if (!read.isOk())
    return toError(read);
  auto *written = reinterpret_cast<const std::byte *>(bytes.data());
  if (size_t place = rt::findOverflow(value.type, value.data, *type, written, elements); place != elements)
    return makeError("the trained value of '" + tensor.name() + "', element " + llvm::Twine(place) +
                     ", is beyond the numbers of " + rt::elementName(*type) +
                     ", the type of this initializer; give a model in f32 (--model)");
  if (isAlias(tensors, tensor.name()) && isTransposedIn(tensor, value))
    bytes = transpose(bytes, value.shape[0], value.shape[1], rt::elementSize(*type));
  return bytes;
}

llvm::Error replace(const Change &change, const rt::CheckpointTensors &tensors, TensorStore &store) {
  if (!change.value)
    return store.put(*change.tensor, change.kept);
  auto bytes = trainedBytes(change, tensors);
  return bytes ? store.put(*change.tensor, *bytes) : bytes.takeError();
}

llvm::Expected<std::vector<Change>> collectChanges(onnx::ModelProto &model, const rt::CheckpointTensors &tensors,
                                                   onnx_import::TensorReader &reader) {
  std::vector<Change> changes;
  for (onnx::TensorProto &tensor : *model.mutable_graph()->mutable_initializer()) {
    if (auto found = tensors.byName.find(tensor.name()); found != tensors.byName.end()) {
      changes.push_back({&tensor, &found->second, {}});
    } else if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      auto kept = reader.read(tensor);
      if (!kept)
        return makeError("initializer '" + tensor.name() + "': " + llvm::toString(kept.takeError()));
      changes.push_back({&tensor, nullptr, kept->bytes});
    }
  }
  return changes;
}

uint64_t bytesOf(const Change &change) {
  if (!change.value)
    return change.kept.size();
  auto type = elementType(change.tensor->data_type());
  return change.value->bytes / rt::elementSize(change.value->type) * (type ? rt::elementSize(*type) : 0);
}

// Returns the location relative to the model, or an empty string if there is none.
llvm::StringRef externalLocation(const onnx::TensorProto &tensor) {
  for (const auto &entry : tensor.external_data())
    if (entry.key() == "location")
      return entry.value();
  return {};
}

// Checks that the output overwrites neither the model nor its external data.
llvm::Error checkOutput(llvm::StringRef output, llvm::StringRef modelPath, const onnx::ModelProto &model) {
  std::vector<ReadFile> read = {{modelPath.str(), "the file of --model"}};
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (llvm::StringRef location = externalLocation(tensor); !location.empty()) {
      llvm::SmallString<256> file(llvm::sys::path::parent_path(modelPath));
      llvm::sys::path::append(file, location);
      read.push_back({file.str().str(), "external data of the model"});
    }
  return checkInputsAreKept("-o", {output.str(), dataPath(output)}, read);
}

// Writes both files or none. Steps that can fail for lack of space are done before the first file appears.
llvm::Error write(const onnx::ModelProto &model, llvm::StringRef output, TensorStore &store) {
  if (model.ByteSizeLong() > INT_MAX)
    return makeError(output + ": the model would be larger than 2 GiB, which protobuf cannot hold");
  std::string text = model.SerializeAsString();
  rt::AtomicFile file;
  rt::Status status = rt::AtomicFile::create(output.str(), &file);
  if (status.isOk())
    status = file.write(text.data(), text.size());
  if (!status.isOk())
    return toError(status);
  if (llvm::Error error = store.isBeside() ? store.commit() : llvm::Error::success())
    return error;
  status = file.commit();
  if (!status.isOk() && store.isBeside())
    llvm::sys::fs::remove(dataPath(output));
  return toError(status);
}

llvm::Error writeModel(const onnx::ModelProto &model, llvm::ArrayRef<Change> changes,
                       const rt::CheckpointTensors &tensors, const std::string &output, uint64_t embeddedLimit) {
  uint64_t total = 0;
  for (const Change &change : changes)
    total += bytesOf(change);
  TensorStore store;
  if (total > embeddedLimit)
    if (llvm::Error error = store.openBeside(dataPath(output)))
      return error;
  for (const Change &change : changes)
    if (llvm::Error error = replace(change, tensors, store))
      return error;
  return write(model, output, store);
}

bool isSafeTensors(llvm::StringRef path) { return path.ends_with(".safetensors"); }

// Writes the trained tensors alone. With "format", Hugging Face's libraries read the file as PyTorch's weights.
llvm::Error writeSafeTensors(llvm::ArrayRef<Change> changes, const rt::CheckpointTensors &tensors,
                             const std::string &output) {
  std::vector<rt::TensorView> views;
  std::vector<const Change *> trained;
  for (const Change &change : changes)
    if (change.value) {
      const onnx::TensorProto &tensor = *change.tensor;
      auto type = elementType(tensor.data_type());
      views.push_back({tensor.name(), *type, rt::Shape(tensor.dims().begin(), tensor.dims().end()), nullptr,
                       static_cast<size_t>(bytesOf(change)), nullptr});
      trained.push_back(&change);
    }
  rt::SafeTensorsFile file;
  if (llvm::Error error = toError(file.create(output, views, {{"format", "pt"}})))
    return error;
  for (const Change *change : trained) {
    auto bytes = trainedBytes(*change, tensors);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error = toError(file.append(bytes->data(), bytes->size())))
      return error;
  }
  return toError(file.commit());
}

// Fails if the name promises a format that is not written.
llvm::Error checkFormat(llvm::StringRef output) {
  for (llvm::StringRef ending : {".pt", ".pth", ".bin", ".ckpt", ".npz"})
    if (output.ends_with(ending))
      return usageError("-o", "files named " + ending +
                                  " are not written; name an ONNX file (.onnx), or a file of the "
                                  "weights alone (.safetensors); got: " +
                                  output);
  return llvm::Error::success();
}

// Changes the graph to the form in which it is written. Returns the notes that are printed afterwards.
llvm::Expected<std::string> prepare(onnx::ModelProto &model, const ExportRequest &request) {
  std::string said;
  if (!request.outputs.empty()) {
    auto left = keepOutputs(model, request.outputs);
    if (!left)
      return left.takeError();
    said = std::move(*left);
  }
  std::string draws = setInferenceForm(model); // after outputs were removed, which may have been statistics
  if (!draws.empty())
    said += (said.empty() ? "note: " : "\nnote: ") + draws;
  return said;
}

} // namespace

llvm::Error cleave::exportCheckpoint(const ExportRequest &request, llvm::raw_ostream &out, uint64_t embeddedLimit) {
  const std::string &output = request.output;
  if (llvm::Error error = checkFormat(output))
    return error;
  if (isSafeTensors(output) && !request.outputs.empty())
    return usageError("--outputs", "a file of the weights alone has no outputs, and gets all of them; leave --outputs "
                                   "out, or name an ONNX file: -o FILE.onnx");
  if (llvm::Error error = checkOutputPath(output)) // before gigabytes are read
    return error;
  rt::CheckpointTensors tensors;
  if (llvm::Error error = toError(rt::loadCheckpointTensors(request.checkpoint, &tensors)))
    return error;
  for (const std::string &note : {tensors.checkpoint->standIn(), tensors.checkpoint->note()})
    if (!note.empty())
      out << "note: " << rt::printable(note) << "\n";
  auto model = readModel(request.model);
  if (!model)
    return model.takeError();
  if (llvm::Error error = checkOutput(output, request.model, *model))
    return error;
  if (llvm::Error error = checkFits(*model, tensors, request.model))
    return error;
  if (llvm::Error error = checkName(tensors, request.model))
    return error;
  std::vector<std::string> notes = notesOf(*model, tensors);
  auto left = prepare(*model, request);
  if (!left)
    return left.takeError();

  llvm::StringRef directory = llvm::sys::path::parent_path(request.model);
  onnx_import::ExternalData external(directory.empty() ? "." : directory.str(), request.model);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  onnx_import::TensorReader reader(&context, external);
  auto changes = collectChanges(*model, tensors, reader);
  if (!changes)
    return changes.takeError();
  size_t replaced = llvm::count_if(*changes, [](const Change &change) { return change.value != nullptr; });
  if (isSafeTensors(output)) {
    if (llvm::Error error = writeSafeTensors(*changes, tensors, output))
      return error;
    out << "wrote " << output << ": " << replaced << " tensors from " << tensors.path << "\n";
    return llvm::Error::success();
  }
  if (llvm::Error error = writeModel(*model, *changes, tensors, output, embeddedLimit))
    return error;
  out << "wrote " << output << ": " << replaced << " initializers from " << tensors.path << "\n";
  for (const std::string &note : notes)
    out << "note: " << rt::printable(note) << "\n";
  if (!left->empty())
    out << *left << "\n";
  return llvm::Error::success();
}
