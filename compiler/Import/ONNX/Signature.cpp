#include "compiler/Import/ONNX/Signature.h"
#include "compiler/Import/ONNX/File/ExportNotes.h"
#include "compiler/Support/Usage.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

using Dimension = onnx::TensorShapeProto::Dimension;

class Binder {
public:
  Binder(mlir::MLIRContext *context, const ModelFile &file, const ImportOptions &options, ErrorList &errors)
      : context_(context), graph_(file.proto.graph()), options_(options), errors_(errors) {}

  Signature run() {
    llvm::StringSet<> initializers;
    for (const auto &tensor : graph_.initializer())
      initializers.insert(tensor.name());
    std::vector<const onnx::ValueInfoProto *> inputs;
    for (const auto &input : graph_.input())
      if (!initializers.contains(input.name())) // otherwise it is a default value, which is kept (DeclaredTypes.h)
        inputs.push_back(&input);
    readBatchNames(inputs);
    findBatch(inputs);
    noteGuess(inputs);
    for (const auto *input : inputs)
      bindInput(*input);
    reportUnbound();
    reportDerived();
    reportUnknown();
    return std::move(signature_);
  }

private:
  // Returns the name of the dimension in the file, or an empty string if its size is fixed.
  static std::string nameOf(const onnx::ValueInfoProto &input, int dim) {
    const Dimension &dimension = input.type().tensor_type().shape().dim(dim);
    if (dimension.has_dim_value())
      return "";
    return dimension.dim_param().empty() ? input.name() + ":" + std::to_string(dim) : dimension.dim_param();
  }

  // Returns the name by which --dim binds the dimension. All names of the batch are one dimension, called by the first.
  std::string symbolOf(const onnx::ValueInfoProto &input, int dim) const {
    std::string name = nameOf(input, dim);
    return llvm::is_contained(signature_.batchNames, name) ? signature_.batchNames.front() : name;
  }

  // Exporters may give the batch another name in each input (tf2onnx: unk__1, unk__2). A name may have a comma itself.
  void readBatchNames(llvm::ArrayRef<const onnx::ValueInfoProto *> inputs) {
    for (const auto *input : inputs)
      for (int dim = 0; dim < input->type().tensor_type().shape().dim_size(); ++dim)
        names_.insert(nameOf(*input, dim));
    names_.erase("");
    llvm::SmallVector<llvm::StringRef> names = {options_.batchDim};
    if (!names_.count(options_.batchDim))
      names = llvm::to_vector(llvm::split(options_.batchDim, ','));
    for (llvm::StringRef name : names)
      if (!options_.batchDim.empty())
        signature_.batchNames.push_back(name.str());
  }

  void findBatch(llvm::ArrayRef<const onnx::ValueInfoProto *> inputs) {
    if (!signature_.batchNames.empty())
      signature_.batchSymbol = signature_.batchNames.front();
    for (const auto *input : inputs)
      if (signature_.batchSymbol.empty() && input->type().tensor_type().shape().dim_size() > 0)
        signature_.batchSymbol = symbolOf(*input, 0);
    if (signature_.batchSymbol.empty() && options_.boundBatch)
      errors_.add(usageError("--global-batch", "no input of the model has a symbolic dimension 0, so there is no batch "
                                               "to compute; leave the option out, or " +
                                                   adviceOnBatch(inputs)));
    else if (signature_.batchSymbol.empty() && options_.dataRanks > 1)
      errors_.add("no input has a symbolic dimension 0, so the batch cannot be spread over " +
                  llvm::Twine(options_.dataRanks) + " data ranks; " + adviceOnBatch(inputs));
  }

  static bool isCalledBatch(llvm::StringRef symbol) { return symbol.contains_insensitive("batch"); }

  // Notes which symbol is the batch, if it could be another one: one that is dimension 0 of another input, or is beside
  // it in an input. If its name has "batch" in it, only others of such a name count.
  void noteGuess(llvm::ArrayRef<const onnx::ValueInfoProto *> inputs) {
    const std::string &taken = signature_.batchSymbol;
    if (taken.empty() || !options_.batchDim.empty())
      return;
    std::string owner, together = taken;
    std::vector<std::string> others;
    llvm::StringSet<> known;
    for (const auto *input : inputs) {
      bool hasTaken = false;
      llvm::SmallVector<std::string> symbols;
      for (int dim = 0; dim < input->type().tensor_type().shape().dim_size(); ++dim) {
        symbols.push_back(symbolOf(*input, dim));
        hasTaken |= symbols.back() == taken;
      }
      if (owner.empty() && hasTaken)
        owner = input->name();
      for (auto [dim, symbol] : llvm::enumerate(symbols))
        if (!symbol.empty() && symbol != taken && (dim == 0 || hasTaken) &&
            (!isCalledBatch(taken) || isCalledBatch(symbol)) && known.insert(symbol).second) {
          others.push_back(symbol);
          together += dim == 0 ? "," + symbol : "";
        }
    }
    if (others.empty())
      return;
    auto best = llvm::find_if(others, isCalledBatch);
    signature_.batchGuess = "taken as the batch: " + quote(taken) + ", dimension 0 of input " + quote(owner) +
                            "; if it is another one (" + listNames(others, 8) + "), give --batch-dim " +
                            (best == others.end() ? others.front() : *best) +
                            (together == taken ? "" : ", if all of them count samples, --batch-dim " + together) +
                            ", and if it is this one, --batch-dim " + taken;
  }

  // The batch may be another dimension, as in [sequence, batch, features].
  static std::string adviceOnBatch(llvm::ArrayRef<const onnx::ValueInfoProto *> inputs) {
    for (const auto *input : inputs)
      for (int dim = 1; dim < input->type().tensor_type().shape().dim_size(); ++dim)
        if (std::string symbol = nameOf(*input, dim); !symbol.empty())
          return "if " + quote(symbol) + " is the batch, give --batch-dim " + symbol;
    return "export the model with a dynamic batch dimension";
  }

  void bindInput(const onnx::ValueInfoProto &input) {
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
      return errors_.add("input " + quote(input.name()) + " must be a tensor of known rank");
    const auto &declared = input.type().tensor_type();
    mlir::Type element = elementTypeOf(context_, declared.elem_type());
    if (!element)
      return errors_.add("input " + quote(input.name()) + " has the element type " +
                         dataTypeName(declared.elem_type()) + ", which is not supported");
    if (declared.shape().dim_size() > kMaxRank)
      return errors_.add("input " + quote(input.name()) + " has " + llvm::Twine(declared.shape().dim_size()) +
                         " dimensions; at most " + llvm::Twine(kMaxRank) + " are supported");
    Port port{input.name(), nullptr, std::nullopt};
    llvm::SmallVector<int64_t> shape;
    bool bound = true;
    for (int dim = 0; dim < declared.shape().dim_size(); ++dim) {
      auto size = bindDim(input, dim);
      std::string symbol = symbolOf(input, dim);
      if (!symbol.empty() && symbol == signature_.batchSymbol && !port.batchDim)
        port.batchDim = dim;
      bound &= size.has_value(); // continue, so that all missing sizes are reported
      shape.push_back(size.value_or(1));
    }
    if (!bound)
      return;
    if (!countElements(shape))
      return reportSize(input, shape);
    if (port.batchDim)
      signature_.globalBatch = shape[*port.batchDim];
    port.type = mlir::RankedTensorType::get(shape, element);
    signature_.inputs.push_back(std::move(port));
  }

  int64_t scaleOf(llvm::StringRef symbol) const { return symbol == signature_.batchSymbol ? options_.dataRanks : 1; }

  // Returns an error about the size of a dimension. It names the option that gave the size.
  llvm::Error sizeError(const std::string &symbol, int64_t size, const std::string &what) const {
    if (options_.boundBatch && symbol == signature_.batchSymbol)
      return usageError("--global-batch", "the batch of one rank, " + std::to_string(size) + ", " + what);
    return usageError("--dim " + symbol + "=" + llvm::Twine(size), what);
  }

  std::optional<int64_t> bindDim(const onnx::ValueInfoProto &input, int dim) {
    std::string symbol = symbolOf(input, dim);
    if (symbol.empty())
      return input.type().tensor_type().shape().dim(dim).dim_value();
    // The names of the file, and anonymous names, are accepted, too.
    auto it = options_.dims.find(symbol);
    for (const std::string &name : {nameOf(input, dim), input.name() + ":" + std::to_string(dim)}) {
      known_.insert({symbol, name});
      auto other = options_.dims.find(name);
      if (it == options_.dims.end())
        it = other;
      else if (other != options_.dims.end() && other->second != it->second)
        errors_.add(usageError("--dim " + name + "=" + std::to_string(other->second),
                               "it is the same dimension as " + quote(it->getKey().str()) + ", which has the size " +
                                   std::to_string(it->second)));
    }
    bool isDerived = options_.boundBatch && symbol == signature_.batchSymbol;
    if (isDerived && it != options_.dims.end())
      derived_.insert(it->getKey().str());
    if (!isDerived && it == options_.dims.end()) {
      unbound_.insert(symbol);
      return std::nullopt;
    }
    int64_t asked = isDerived ? *options_.boundBatch : it->second, scale = scaleOf(symbol), size;
    if (asked >= 1 && !llvm::MulOverflow(asked, scale, size))
      return size;
    errors_.add(
        sizeError(symbol, asked,
                  asked < 1 ? "must be at least 1" : "is too large; at most " + std::to_string(kMaxElements / scale)));
    return std::nullopt;
  }

  // Reports that an input is too large. If a smaller value for its largest named dimension would help, the message says
  // so.
  void reportSize(const onnx::ValueInfoProto &input, llvm::ArrayRef<int64_t> shape) {
    std::string what = "input " + quote(input.name()) + " has the shape " + formatShape(shape);
    int64_t chosen = -1;
    llvm::SmallVector<int64_t> others(shape);
    for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim)
      if (!symbolOf(input, dim).empty() && (chosen < 0 || shape[dim] > shape[chosen]))
        chosen = dim;
    if (chosen >= 0)
      others[chosen] = 1;
    auto rest = countElements(others);
    if (chosen < 0 || !rest || *rest == 0) // a dimension of size 0 beside others whose product has no 64 bits
      return errors_.add(what + ", which is negative somewhere or has more than 2^46 elements; give its dimensions "
                                "names in the file and their sizes by --dim NAME=SIZE, or correct them");
    std::string symbol = symbolOf(input, chosen), ranks;
    int64_t scale = scaleOf(symbol);
    if (scale > 1)
      ranks = " over " + std::to_string(scale) + " data ranks";
    errors_.add(sizeError(symbol, shape[chosen] / scale,
                          "is too large: " + what + ranks + ", which is more than 2^46 elements; at most " +
                              std::to_string(kMaxElements / *rest / scale) + " with these other sizes"));
  }

  void reportUnbound() {
    if (unbound_.empty())
      return;
    std::vector<std::string> names(unbound_.begin(), unbound_.end());
    std::string unknown; // one mistake, one message: --dim N=8 for --dim batch=8
    for (const auto &entry : options_.dims)
      if (!known_.count(entry.getKey().str()))
        unknown += (unknown.empty() ? " in place of --dim " : ", --dim ") + entry.getKey().str();
    errors_.add(usageError("--dim", (names.size() == 1 ? "the model's dimension " : "the model's dimensions ") +
                                        llvm::join(names, ", ") + (names.size() == 1 ? " has" : " have") +
                                        " no size; give --dim " + llvm::join(names, "=SIZE,") + "=SIZE" + unknown));
  }

  void reportDerived() {
    for (const std::string &name : derived_)
      errors_.add(usageError("--global-batch", "it sets the batch; leave out --dim " + name));
  }

  // Returns for example "x is [8, 3], labels is [8]".
  std::string fixedShapes() const {
    std::vector<std::string> texts;
    for (const auto &input : graph_.input()) {
      std::string text;
      for (const Dimension &dimension : input.type().tensor_type().shape().dim())
        text += (text.empty() ? "" : ", ") + std::to_string(dimension.dim_value());
      if (!text.empty())
        texts.push_back(input.name() + " is [" + text + "]");
    }
    return llvm::join(texts, ", ");
  }

  // Reports names of --dim that the model does not have. They are probably typing errors, and the user would believe
  // that they have an effect.
  void reportUnknown() {
    if (names_.empty() && !errors_.empty()) // an input that cannot be read may have them
      return;
    std::string names = !names_.empty()
                            ? "; it has: " + llvm::join(names_, ", ")
                            : ": all dimensions of its inputs are fixed (" + fixedShapes() +
                                  "). Leave the option out to compile it for these sizes, or export the "
                                  "model with a symbolic batch (cleave.export_torch does; torch.onnx.export "
                                  "does with dynamic_shapes or dynamic_axes)";
    for (const std::string &name : signature_.batchNames)
      if (!names_.count(name))
        return errors_.add(usageError("--batch-dim " + name, "the model has no such dimension" + names));
    for (const auto &entry : options_.dims)
      if (unbound_.empty() && !known_.count(entry.getKey().str()))
        errors_.add(usageError("--dim " + entry.getKey(), "the model has no such dimension" + names));
  }

  mlir::MLIRContext *context_;
  const onnx::GraphProto &graph_;
  const ImportOptions &options_;
  ErrorList &errors_;
  Signature signature_;
  std::set<std::string> unbound_;
  std::set<std::string> derived_;       // names of the batch dimension that are also in --dim
  std::set<std::string> names_, known_; // of dimensions in the file; these and anonymous names
};

} // namespace

bool Signature::isBatch(llvm::StringRef name) const {
  return !name.empty() && (name == batchSymbol || llvm::is_contained(batchNames, name));
}

std::optional<int64_t> Signature::declaredBatchDim(const onnx::ValueInfoProto &output,
                                                   mlir::RankedTensorType type) const {
  const auto &shape = output.type().tensor_type().shape();
  if (batchSymbol.empty() || shape.dim_size() != type.getRank())
    return std::nullopt;
  for (int dim = 0; dim < shape.dim_size(); ++dim)
    if (isBatch(shape.dim(dim).dim_param()) && type.getDimSize(dim) == globalBatch)
      return dim;
  return std::nullopt;
}

bool Signature::mayHaveBatch(mlir::RankedTensorType type) const {
  return !batchSymbol.empty() && type.getRank() > 0 && type.getDimSize(0) == globalBatch;
}

Signature cleave::onnx_import::bindSignature(mlir::MLIRContext *context, const ModelFile &file,
                                             const ImportOptions &options, ErrorList &errors) {
  return Binder(context, file, options, errors).run();
}
