#include "compiler/Import/ONNX/File/ExportSignature.h"
#include "compiler/Import/ONNX/File/Metadata.h"

using namespace cleave::onnx_import;

constexpr int kGraphMetadata = 16; // GraphProto.metadata_props

static std::string formOf(const onnx::ModelProto &model) {
  for (const onnx::StringStringEntryProto &entry : model.metadata_props())
    if (entry.key() == kFormKey)
      return entry.value();
  return "";
}

static std::string signatureText(const onnx::ModelProto &model) {
  auto isSignature = [](llvm::StringRef key) {
    return key.starts_with("pkg.torch.") && key.ends_with("graph_signature");
  };
  for (const onnx::StringStringEntryProto &entry : model.metadata_props())
    if (isSignature(entry.key()))
      return entry.value();
  return findMetadata(model.graph(), kGraphMetadata, isSignature);
}

// Returns the text between the quotes after `target=`. The quotes may be single or double.
static llvm::StringRef targetOf(llvm::StringRef text) {
  size_t at = text.find("target=");
  if (at == llvm::StringRef::npos)
    return "";
  text = text.drop_front(at + llvm::StringRef("target=").size());
  if (!text.starts_with("'") && !text.starts_with("\""))
    return "";
  return text.drop_front().take_until([&](char c) { return c == text[0]; });
}

static void addEntry(ExportSignature &signature, llvm::StringRef kind, llvm::StringRef entry) {
  llvm::StringRef target = targetOf(entry);
  if (target.empty())
    return;
  if (kind == "CONSTANT_TENSOR" || (kind == "BUFFER" && entry.contains("persistent=False")))
    signature.unsaved.insert(target);
  if (kind == "PARAMETER" && signature.kinds.try_emplace(target, ExportSignature::Kind::Parameter).second)
    signature.parameters.push_back(target.str());
  else if ((kind == "BUFFER" || kind == "CONSTANT_TENSOR") &&
           signature.kinds.try_emplace(target, ExportSignature::Kind::Buffer).second)
    signature.buffers.push_back(target.str());
  else if (kind == "BUFFER_MUTATION")
    signature.mutated.insert(target);
}

ExportSignature::Kind ExportSignature::kindOf(llvm::StringRef name) const {
  auto it = kinds.find(name);
  return it == kinds.end() ? Kind::Unknown : it->second;
}

ExportSignature cleave::onnx_import::parseExportSignature(llvm::StringRef text) {
  ExportSignature signature;
  if (text.starts_with("ExportGraphSignature(")) {
    for (llvm::StringRef marker : {"InputKind.", "OutputKind."})
      for (size_t at = text.find(marker); at != llvm::StringRef::npos;) {
        size_t next = text.find(marker, at + 1);
        llvm::StringRef entry = text.slice(at + marker.size(), next);
        addEntry(signature, entry.take_until([](char c) { return c == ':' || c == '>'; }), entry);
        at = next;
      }
  } else {
    while (!text.empty()) {
      auto [line, rest] = text.split('\n');
      text = rest;
      llvm::StringRef entry = line.split(": ").second;
      addEntry(signature, entry.take_until([](char c) { return c == ' '; }), entry);
    }
  }
  signature.isPresent = !signature.kinds.empty();
  return signature;
}

ExportSignature cleave::onnx_import::readExportSignature(const onnx::ModelProto &model) {
  ExportSignature signature = parseExportSignature(signatureText(model));
  signature.form = formOf(model);
  return signature;
}
