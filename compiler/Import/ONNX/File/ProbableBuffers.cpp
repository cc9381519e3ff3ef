#include "compiler/Import/ONNX/File/ProbableBuffers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <map>

using namespace cleave;
using namespace cleave::onnx_import;

static llvm::StringRef leafOf(llvm::StringRef name) { return name.substr(name.find_last_of("./:") + 1); }

// True if the last part of the name is one that common modules use for buffers, and never for parameters.
static bool hasBufferName(llvm::StringRef name) {
  static const llvm::StringSet<> leaves = {
      "mean",           "std",           "var",          "pixel_mean",        "pixel_std",    "image_mean",
      "image_std",      "inv_freq",      "freqs",        "freqs_cis",         "cos_cached",   "sin_cached",
      "cos_cache",      "sin_cache",     "embed_scale",  "final_logits_bias", "attn_mask",    "causal_mask",
      "attention_mask", "masked_bias",   "position_ids", "original_inv_freq", "running_mean", "running_var",
      "running_std",    "alphas_cumprod"};
  return leaves.contains(leafOf(name));
}

// True for constants of a loss or of its scores: the last part of the name says so, the tensor is used as such, and it
// has at most one number for each class.
static bool isLossConstant(llvm::StringRef name, const WeightTensor &tensor, const TensorUses &uses) {
  static const llvm::StringSet<> leaves = {"pos_weight",   "class_weight",  "class_weights", "loss_weight",
                                           "loss_weights", "sample_weight", "center",        "log_prior",
                                           "class_prior",  "class_priors",  "log_priors",    "prior",
                                           "label_freq",   "class_freq",    "class_freqs"};
  llvm::ArrayRef<int64_t> shape = tensor.type.getShape();
  bool isList = llvm::count_if(shape, [](int64_t size) { return size != 1; }) <= 1;
  return isList && leaves.contains(leafOf(name)) && uses.isArithmetic(name);
}

// Returns the first elements, as many as the tests below need.
static std::vector<double> leadingValues(const WeightTensor &tensor) {
  constexpr int64_t kEnough = 1 << 14;
  int64_t count = std::min(tensor.type.getNumElements(), kEnough);
  mlir::Type element = tensor.type.getElementType();
  Literal literal = Literal::fromBytes(mlir::RankedTensorType::get({count}, element),
                                       tensor.bytes.take_front(size_t(count * elementBytes(element))));
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(literal.asReal(i));
  return values;
}

// True if the rows consist of (sin, cos) pairs. The two numbers of a pair are adjacent, or in the two halves of the
// row.
static bool isSinusoidal(llvm::ArrayRef<double> values, llvm::ArrayRef<int64_t> shape) {
  if (shape.size() < 2 || shape.back() < 4 || shape.back() % 2 != 0)
    return false;
  size_t width = size_t(shape.back()), rows = values.size() / width;
  bool pairs = rows > 1, halves = rows > 1;
  auto isUnit = [](double a, double b) { return std::fabs(a * a + b * b - 1) < 1e-3; };
  for (size_t row = 0; row < rows && (pairs || halves); ++row)
    for (size_t i = 0; i < width / 2; ++i) {
      const double *at = values.data() + row * width;
      pairs &= isUnit(at[2 * i], at[2 * i + 1]);
      halves &= isUnit(at[i], at[i + width / 2]);
    }
  return pairs || halves;
}

// True if all differences are equal and not 0, or all quotients are equal and not 1.
static bool isSequence(llvm::ArrayRef<double> values) {
  if (values.size() < 4)
    return false;
  double step = values[1] - values[0], ratio = values[0] != 0 ? values[1] / values[0] : 0;
  bool arithmetic = step != 0, geometric = ratio > 0 && ratio != 1;
  for (size_t i = 2; i < values.size() && (arithmetic || geometric); ++i) {
    double scale = std::max(std::fabs(values[i]), std::fabs(values[i - 1]));
    arithmetic &= std::fabs(values[i] - values[i - 1] - step) <= 1e-5 * scale;
    geometric &= std::fabs(values[i] - values[i - 1] * ratio) <= 1e-4 * std::fabs(values[i]);
  }
  return arithmetic || geometric;
}

static bool isMask(llvm::ArrayRef<double> values) {
  return llvm::any_of(values, [](double value) { return value == -INFINITY || value < -1e30; });
}

// True for integers that are not all equal. Zeros and ones are initial values of weights.
static bool isIntegers(llvm::ArrayRef<double> values) {
  return values.size() >= 4 && llvm::all_of(values, [](double value) { return value == std::floor(value); }) &&
         llvm::any_of(values, [&](double value) { return value != values[0]; });
}

llvm::StringRef cleave::onnx_import::reasonForBuffer(llvm::StringRef name, const WeightTensor &tensor,
                                                     const TensorUses &uses) {
  if (!llvm::isa<mlir::FloatType>(tensor.type.getElementType()) || tensor.type.getNumElements() == 0)
    return "";
  if (hasBufferName(name))
    return "name";
  if (isLossConstant(name, tensor, uses))
    return "name and use";
  std::vector<double> values = leadingValues(tensor);
  if (isSinusoidal(values, tensor.type.getShape()))
    return "sinusoidal table";
  llvm::StringRef leaf = leafOf(name);
  if (leaf.ends_with("weight") || leaf.ends_with("bias"))
    return ""; // such as an identity matrix
  if (isMask(values))
    return "mask";
  if (tensor.type.getRank() == 1 && isSequence(values))
    return "sequence";
  return isIntegers(values) ? "integers" : "";
}

// Returns a pattern that matches the name. A comma ends a pattern, so it becomes `?`.
static std::string escape(llvm::StringRef name) {
  std::string text;
  for (char c : name) {
    if (llvm::StringRef("*?[\\").contains(c))
      text += '\\';
    text += c == ',' ? '?' : c;
  }
  return text;
}

static bool endsWithLeaf(llvm::StringRef name) { return name.drop_back(leafOf(name).size()).ends_with("."); }

ShortPatterns::ShortPatterns(llvm::ArrayRef<std::string> all) {
  for (const std::string &name : all)
    if (all_.insert(name).second && endsWithLeaf(name))
      ++counts_[leafOf(name)];
}

std::string ShortPatterns::of(llvm::ArrayRef<std::string> chosen) const {
  std::map<std::string, std::vector<std::string>> leaves;
  for (const std::string &name : chosen)
    leaves[leafOf(name).str()].push_back(name);
  std::vector<std::string> patterns;
  for (const auto &[leaf, names] : leaves) {
    // `*.leaf` matches exactly the names that are counted, unless its comma became a `?`.
    bool covers = llvm::all_of(names, endsWithLeaf) && !llvm::StringRef(leaf).contains(',');
    size_t known = size_t(llvm::count_if(names, [&](const std::string &name) { return all_.contains(name); }));
    if (names.size() >= 3 && covers && known == counts_.lookup(leaf))
      patterns.push_back("*." + escape(leaf));
    else
      for (const std::string &name : names)
        patterns.push_back(escape(name));
  }
  std::string list = llvm::join(patterns, ",");
  bool isPlain = llvm::all_of(list, [](char c) { return llvm::isAlnum(c) || llvm::StringRef("._,-/:").contains(c); });
  return isPlain ? list : "'" + list + "'";
}

std::vector<std::string> cleave::onnx_import::noteProbableBuffers(const WeightMap &weights,
                                                                  llvm::ArrayRef<std::string> parameters,
                                                                  const TensorUses &uses,
                                                                  std::vector<std::string> &notes) {
  std::vector<std::string> names;
  std::map<std::string, size_t> reasons;
  for (const std::string &name : parameters) {
    const WeightTensor *tensor = weights.find(name);
    llvm::StringRef reason = tensor ? reasonForBuffer(name, *tensor, uses) : "";
    if (reason.empty())
      continue;
    names.push_back(name);
    ++reasons[reason.str()];
  }
  if (names.empty())
    return names;
  bool isOne = names.size() == 1;
  std::string why;
  for (const auto &[reason, count] : reasons) {
    why += why.empty() ? "" : ", ";
    why += reasons.size() > 1 ? std::to_string(count) + " " : "";
    why += llvm::StringRef(reason).starts_with("name") ? "by " + reason : "by values: " + reason;
  }
  notes.push_back(std::to_string(names.size()) +
                  (isOne ? " parameter is probably a buffer of the module (" : " parameters are probably buffers (") +
                  why + "), and would be trained; to keep " + (isOne ? "it: " : "them: ") + "--buffers " +
                  ShortPatterns(parameters).of(names));
  return names;
}
