#include "compiler/Import/ONNX/File/ModelFile.h"
#include "compiler/Import/ONNX/File/Metadata.h"
#include "compiler/Import/ONNX/File/Names.h"
#include "runtime/base/ForeignFile.h"

#include "llvm/ADT/StringExtras.h"

#include <climits>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

using namespace cleave::onnx_import;

// Returns advice for a file that is not a model, as the end of a message.
static const char *adviceOn(cleave::rt::FileFormat format) {
  switch (format) {
  case cleave::rt::FileFormat::TorchSave:
    return ": load it into its module, or by torch.jit.load or torch.export.load, and export that with "
           "cleave.export_torch(module, inputs, \"model.onnx\")";
  case cleave::rt::FileFormat::Safetensors:
    return ", which has the graph, too; give weights to the compiled program (--weights)";
  case cleave::rt::FileFormat::Plan:
  case cleave::rt::FileFormat::Program:
    return ": it may be a compiled model, which has no graph any more. Compile the ONNX file that it was made of; "
           "cleave "
           "inspect FILE shows what was compiled";
  default:
    return "";
  }
}

// A model has bytes below 32 in its first ones: the keys and lengths of fields.
static bool isText(llvm::StringRef bytes) {
  return llvm::all_of(bytes.take_front(64), [](char c) { return llvm::isPrint(c) || llvm::isSpace(c); });
}

static llvm::Error parseBytes(onnx::ModelProto &proto, llvm::StringRef bytes) {
  if (bytes.empty())
    return makeError("the file is empty; expected an ONNX model");
  if (bytes.size() > size_t(INT_MAX))
    return makeError("the file is larger than 2 GiB, which protobuf cannot hold; save the weights as external data");
  namespace rt = cleave::rt;
  using rt::FileFormat;
  FileFormat format = rt::formatOf({bytes.data(), bytes.size()});
  if (format != FileFormat::Unknown)
    return makeError(llvm::Twine("this is ") + rt::describeFormat(format) + "; expected an ONNX model" +
                     adviceOn(format));
  if (isText(bytes))
    return makeError("this is a text, such as a program's; expected an ONNX model: a module of PyTorch is exported by "
                     "cleave.export_torch(module, inputs, \"model.onnx\")");
  google::protobuf::LogSilencer silence; // the error below is enough
  google::protobuf::io::ArrayInputStream raw(bytes.data(), int(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&raw);
  stream.SetTotalBytesLimit(INT_MAX);
  stream.SetRecursionLimit(100);
  if (!proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return makeError("the file is not a whole ONNX model (protobuf parsing failed): truncated, or of another format");
  return llvm::Error::success();
}

static llvm::Error checkFormat(const ModelFile &file) {
  if (file.proto.ir_version() <= kMaxIrVersion)
    return llvm::Error::success();
  return makeError("the file has version " + llvm::Twine(file.proto.ir_version()) +
                   " of the ONNX format (ir_version); " + llvm::Twine(kMaxIrVersion) +
                   " is the newest that is known. Save it as that: model.ir_version = " + llvm::Twine(kMaxIrVersion) +
                   " before onnx.save()");
}

static llvm::Error readOpsets(ModelFile &file) {
  for (const auto &import : file.proto.opset_import()) {
    llvm::StringRef domain = canonicalDomain(import.domain());
    auto [known, isNew] = file.opsets.try_emplace(domain, import.version());
    if (!isNew && known->second != import.version())
      return makeError("operator set " + quote(domain) + " is imported twice, in the versions " +
                       llvm::Twine(known->second) + " and " + llvm::Twine(import.version()));
  }
  auto it = file.opsets.find("");
  if (it == file.opsets.end())
    return makeError(
        "the model imports no operator set of the default domain; save it again with onnx.helper.make_model");
  if (it->second < kMinOpset)
    return makeError("the model uses opset " + llvm::Twine(it->second) + "; " + llvm::Twine(kMinOpset) +
                     " or newer is needed; convert it with onnx.version_converter.convert_version");
  return checkNewestOpset("the model", it->second);
}

static llvm::Error readFunctions(ModelFile &file) {
  for (const onnx::FunctionProto &function : file.proto.functions())
    if (!file.functions.try_emplace(functionKey(function), &function).second)
      return makeError("function " + quote(function.name()) + " is defined twice");
  return llvm::Error::success();
}

llvm::Error cleave::onnx_import::checkNewestOpset(const llvm::Twine &what, int64_t opset) {
  if (opset <= kMaxOpset)
    return llvm::Error::success();
  return makeError(what + " uses opset " + llvm::Twine(opset) + "; operators are known up to opset " +
                   llvm::Twine(kMaxOpset) + ". Export it with opset_version=" + llvm::Twine(kMaxOpset) +
                   " or an older one");
}

llvm::Expected<std::unique_ptr<ModelFile>> cleave::onnx_import::parseModel(llvm::StringRef bytes,
                                                                           llvm::StringRef directory) {
  auto file = std::make_unique<ModelFile>();
  file->directory = directory.str();
  if (llvm::Error error = parseBytes(file->proto, bytes))
    return error;
  if (!file->proto.has_graph())
    return makeError("the model has no graph; was it saved as weights only, or is it another protobuf file?");
  if (file->proto.graph().output_size() == 0)
    return makeError("the graph has no outputs; expected at least one");
  if (llvm::Error error = checkNames(file->proto))
    return error;
  if (llvm::Error error = checkFormat(*file))
    return error;
  if (llvm::Error error = readOpsets(*file))
    return error;
  if (llvm::Error error = readFunctions(*file))
    return error;
  return file;
}
