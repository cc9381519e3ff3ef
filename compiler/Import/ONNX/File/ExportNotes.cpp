#include "compiler/Import/ONNX/File/ExportNotes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace cleave::onnx_import;

bool cleave::onnx_import::isExporterName(llvm::StringRef name) {
  llvm::StringRef rest = name;
  if (rest.consume_front("val_"))
    return !rest.empty() && llvm::all_of(rest, llvm::isDigit);
  return name.contains("::") || name.contains('/') || name.starts_with("scalar_tensor") ||
         name.starts_with("_to_copy") || name.starts_with("lift_fresh") || name.starts_with("_inlined_") ||
         name.starts_with("const_");
}

std::string cleave::onnx_import::listNames(llvm::ArrayRef<std::string> names, size_t shown) {
  std::string text = llvm::join(names.take_front(shown), ", ");
  return names.size() > shown ? text + " and " + std::to_string(names.size() - shown) + " more" : text;
}

static bool isFloating(const onnx::TensorProto &tensor) {
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
  case onnx::TensorProto::DOUBLE:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return true;
  default:
    return false;
  }
}

std::vector<std::string> cleave::onnx_import::changedParameters(const onnx::GraphProto &graph,
                                                                const ExportSignature &signature) {
  llvm::StringSet<> present;
  bool hasMade = false; // a tensor that the exporter has computed from others
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    present.insert(tensor.name());
    hasMade |= signature.kindOf(tensor.name()) == ExportSignature::Kind::Unknown && isFloating(tensor) &&
               countElements(llvm::SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end())).value_or(2) > 1;
  }
  // A missing variance has been folded into a convolution. In training form nothing can be: no output depends on it.
  for (const std::string &buffer : signature.buffers)
    hasMade |= !signature.isTrainingForm() && llvm::StringRef(buffer).ends_with(".running_var") &&
               !present.contains(buffer);
  std::vector<std::string> missing;
  for (const std::string &parameter : signature.parameters)
    if (hasMade && !present.contains(parameter))
      missing.push_back(parameter);
  return missing;
}

// Returns the constants of one truth value, by name. Dropout's input `training_mode` may be one.
static llvm::StringMap<bool> knownTruths(const onnx::GraphProto &proto, const FlatGraph &graph) {
  llvm::StringMap<bool> truths;
  auto add = [&](llvm::StringRef name, const onnx::TensorProto &tensor) {
    bool isTrue = tensor.has_raw_data() ? !tensor.raw_data().empty() && tensor.raw_data()[0] != 0
                                        : tensor.int32_data_size() > 0 && tensor.int32_data(0) != 0;
    if (tensor.data_type() == onnx::TensorProto::BOOL)
      truths[name] = isTrue;
  };
  for (const onnx::TensorProto &tensor : proto.initializer())
    add(tensor.name(), tensor);
  for (const FlatNode &node : graph.nodes)
    for (const onnx::AttributeProto &attribute : node.proto->attribute())
      if (node.proto->op_type() == "Constant" && attribute.name() == "value" && node.proto->output_size() == 1)
        add(node.proto->output(0), attribute.t());
  return truths;
}

static bool isNorm(const onnx::NodeProto &node) {
  return node.op_type() == "BatchNormalization" && node.input_size() > 3;
}

static bool isTrainingNorm(const onnx::NodeProto &node, const ExportSignature &signature) {
  if (!isNorm(node))
    return false;
  if (signature.isPresent) // nodes of this exporter have no training_mode
    return signature.mutated.contains(node.input(3));
  return llvm::any_of(node.attribute(), [](const auto &a) { return a.name() == "training_mode" && a.i() != 0; });
}

llvm::StringSet<> cleave::onnx_import::findKeptNorms(const FlatGraph &graph, const ExportSignature &signature) {
  llvm::StringSet<> kept, trained;
  for (const FlatNode &node : graph.nodes)
    if (isNorm(*node.proto))
      (isTrainingNorm(*node.proto, signature) ? trained : kept).insert(node.proto->input(3));
  if (trained.empty() && !signature.isTrainingForm())
    return {};
  for (const auto &name : trained)
    kept.erase(name.getKey());
  return kept;
}

namespace {

class ExportReader {
public:
  ExportReader(const ModelFile &file, const FlatGraph &graph, const ExportSignature &signature)
      : proto_(file.proto.graph()), graph_(graph), signature_(signature),
        isTorch_(file.proto.producer_name() == "pytorch") {
    for (const onnx::TensorProto &tensor : proto_.initializer())
      initializers_.insert(tensor.name());
  }

  // Returns what the exporter has done to the model, and the call that exports it unchanged. Returns an empty string if
  // the file shows no change.
  std::string changes() const {
    if (signature_.isPresent) {
      std::vector<std::string> changed = changedParameters(proto_, signature_);
      return changed.empty() ? ""
                             : std::to_string(changed.size()) + " of " + std::to_string(signature_.parameters.size()) +
                                   " parameters are folded or merged (" + listNames(changed) +
                                   "), and what is trained may be another model; export with model.train() and "
                                   "optimize=False";
    }
    if (!isTorch_)
      return "";
    std::vector<std::string> folded = foldedConvolutions(), merged = mergedParameters();
    std::string text =
        folded.empty() ? "" : "batch normalization is folded into convolutions (" + listNames(folded) + ")";
    if (!merged.empty())
      text += (text.empty() ? "" : ", ") + std::to_string(merged.size()) +
              " tensors are merged with others of equal values (" + listNames(merged) + ")";
    return text.empty() ? ""
                        : text + ", and what is trained is another model; export with training=TrainingMode.TRAINING "
                                 "and do_constant_folding=False";
  }

  // True if the graph has BatchNormalization, none updates its statistics, there is no Dropout that drops, and the file
  // does not state another form.
  bool isInferenceForm() const {
    if (signature_.isTrainingForm())
      return false;
    bool found = false;
    llvm::StringMap<bool> truths = knownTruths(proto_, graph_);
    for (const FlatNode &node : graph_.nodes) {
      auto drops = [&] {
        auto known = node.proto->input_size() > 2 ? truths.find(node.proto->input(2)) : truths.end();
        return known == truths.end() || known->second;
      };
      if ((node.proto->op_type() == "Dropout" && drops()) || isTrainingNorm(*node.proto, signature_))
        return false;
      found |= isNorm(*node.proto) && initializers_.contains(node.proto->input(3)); // else the graph computes them
    }
    return found;
  }

  // Returns a note on the BatchNormalizations that keep their statistics while a model is trained, or an empty string.
  std::string keptNorms() const {
    llvm::StringSet<> means = findKeptNorms(graph_, signature_);
    std::vector<std::string> names;
    bool hasOthers = false;
    for (const FlatNode &node : graph_.nodes)
      if (isNorm(*node.proto) && initializers_.contains(node.proto->input(3))) {
        if (means.contains(node.proto->input(3)))
          names.push_back(node.describe());
        else
          hasOthers = true;
      }
    return names.empty()
               ? ""
               : "BatchNormalization that the file has in inference form (" + listNames(names) +
                     ") keeps its running statistics, as in eval()" + (hasOthers ? "; the others update theirs" : "");
  }

  // Returns the tensors that the TorchScript exporter computed from parameters and buffers. For example, transposed
  // weights are trained correctly, but under names that the user does not know.
  std::vector<std::string> madeTensors() const {
    std::vector<std::string> names;
    for (const onnx::TensorProto &tensor : proto_.initializer())
      if (llvm::StringRef(tensor.name()).starts_with("onnx::") && isFloating(tensor) &&
          countElements(llvm::SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end())).value_or(2) > 1)
        names.push_back(tensor.name());
    return names;
  }

  std::string remedy() const {
    return signature_.isPresent ? "call model.train() before the export"
           : isTorch_           ? "export with training=TrainingMode.TRAINING"
                                : "export it in training form";
  }

private:
  std::vector<std::string> foldedConvolutions() const {
    std::vector<std::string> names;
    for (const FlatNode &node : graph_.nodes)
      if (llvm::StringRef(node.proto->op_type()).starts_with("Conv") && node.proto->input_size() > 2 &&
          llvm::StringRef(node.proto->input(2)).starts_with("onnx::Conv"))
        names.push_back(node.proto->input(2));
    return names;
  }

  std::vector<std::string> mergedParameters() const {
    std::vector<std::string> names;
    for (const FlatNode &node : graph_.nodes)
      if (node.proto->op_type() == "Identity" && node.proto->input_size() == 1 && node.proto->output_size() == 1 &&
          initializers_.contains(node.proto->input(0)) && !llvm::StringRef(node.proto->output(0)).contains('/'))
        names.push_back(node.proto->output(0));
    return names;
  }

  const onnx::GraphProto &proto_;
  const FlatGraph &graph_;
  const ExportSignature &signature_;
  bool isTorch_;
  llvm::StringSet<> initializers_;
};

} // namespace

void cleave::onnx_import::noteExport(const ModelFile &file, const FlatGraph &graph, const ExportSignature &signature,
                                     bool isFrozen, std::vector<std::string> &notes,
                                     std::vector<std::string> &warnings) {
  ExportReader reader(file, graph, signature);
  std::string changes = reader.changes();
  const std::string how = "it normalizes by the batch's statistics and updates the running ones; --batch-norm frozen "
                          "normalizes by the running ones, in all layers";
  if (!changes.empty())
    warnings.push_back("the exporter has changed the model: " + changes + " (cleave.export_torch does it)");
  else if (reader.isInferenceForm())
    notes.push_back("the graph is in inference form, in which Dropout would be gone" +
                    std::string(isFrozen ? "" : ". Its BatchNormalization is trained all the same: " + how) +
                    "; if the model has Dropout, " + reader.remedy() + ", as cleave.export_torch does");
  else if (std::string kept = reader.keptNorms(); !kept.empty() && !isFrozen)
    notes.push_back(kept);
  std::vector<std::string> made = reader.madeTensors();
  if (changes.empty() && !made.empty())
    notes.push_back(std::to_string(made.size()) +
                    (made.size() == 1 ? " tensor is a parameter or buffer" : " tensors are parameters or buffers") +
                    " that the exporter has transposed or folded (" + listNames(made) +
                    "); do_constant_folding=False keeps the module's own");
}

void cleave::onnx_import::noteTrainingForm(const ModelFile &file, const FlatGraph &graph,
                                           std::vector<std::string> &notes) {
  llvm::StringMap<bool> truths = knownTruths(file.proto.graph(), graph);
  std::vector<std::string> names;
  for (const FlatNode &flat : graph.nodes) {
    const onnx::NodeProto &node = *flat.proto;
    bool isTraining = node.op_type() == "Dropout" && node.input_size() > 2 && truths.lookup(node.input(2));
    for (const onnx::AttributeProto &attribute : node.attribute())
      isTraining |= node.op_type() == "BatchNormalization" && attribute.name() == "training_mode" && attribute.i() != 0;
    if (isTraining)
      names.push_back(flat.describe());
  }
  if (!names.empty())
    notes.push_back(listNames(names) + (names.size() == 1 ? " is" : " are") +
                    " in training form, and the program computes inference: BatchNormalization takes its running "
                    "statistics, and Dropout drops nothing");
}
