#include "runtime/train/data/ArrayAdvice.h"

#include "runtime/base/NearestName.h"
#include "runtime/base/OptionText.h"

#include <algorithm>
#include <numeric>

namespace cleave::rt {
namespace {

using Order = std::vector<size_t>;

bool fits(const Shape &found, const Order &order, const Shape &wanted) {
  for (size_t i = 0; i < order.size(); ++i)
    if (found[order[i]] != wanted[i])
      return false;
  return true;
}

// Returns the order of dimensions that turns `found` into `wanted`, or an empty one if there is none. If equal sizes
// allow several, it prefers one that moves a single dimension: channels last to channels first, or back.
Order orderOf(const Shape &found, const Shape &wanted) {
  constexpr size_t kMost = 6; // 720 orders
  size_t rank = found.size();
  if (rank != wanted.size() || rank < 2 || rank > kMost)
    return {};
  Order order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  for (int turn : {1, -1}) {
    Order moved = order;
    std::rotate(moved.begin(), turn > 0 ? moved.end() - 1 : moved.begin() + 1, moved.end());
    if (fits(found, moved, wanted))
      return moved;
  }
  while (std::next_permutation(order.begin(), order.end()))
    if (fits(found, order, wanted))
      return order;
  return {};
}

uint64_t elementsOf(const Shape &shape) {
  uint64_t count = 0;
  return countElements(shape, &count) ? count : 0;
}

// "3, 28, 28"
std::string listOf(const Shape &shape) {
  std::string text = toString(shape);
  return text.substr(1, text.size() - 2);
}

} // namespace

std::string shapeAdvice(const Shape &found, const InputType &input) {
  size_t before = input.batched ? 1 : 0; // dimensions before those of a sample
  if (found.size() < before)
    return "";
  if (input.batched && found == input.sample)
    return "; this is one sample: save x[None], which adds the dimension of samples";
  Shape sample(found.begin() + static_cast<ptrdiff_t>(before), found.end());
  bool isWhole = input.type == ElementType::i64 || input.type == ElementType::i32;
  bool hasClasses = sample.size() == input.sample.size() + 1 && sample.back() > 1;
  if (isWhole && hasClasses && std::equal(input.sample.begin(), input.sample.end(), sample.begin()))
    return "; if these are one-hot labels, save x.argmax(-1): expected are the numbers of classes";
  if (Order order = orderOf(sample, input.sample); !order.empty()) {
    std::string text = input.batched ? "0" : "";
    for (size_t dimension : order)
      text += (text.empty() ? "" : ", ") + std::to_string(dimension + before);
    return "; the sizes fit in another order: save numpy.transpose(x, (" + text + "))";
  }
  if (elementsOf(sample) != 0 && elementsOf(sample) == elementsOf(input.sample))
    return "; each sample has as many elements: if their order is right, save x.reshape(" +
           std::string(input.batched ? (input.sample.empty() ? "-1" : "-1, ") : "") + listOf(input.sample) + ")";
  return "";
}

std::string formatAdvice(const std::string &file) {
  // The array is `before` + the file's name + `after`.
  struct Format {
    std::vector<const char *> endings;
    const char *before, *after, *source;
  };
  static const Format kFormats[] = {
      {{".csv"}, "numpy.loadtxt(\"", "\", delimiter=\",\", dtype=\"float32\")", "a table"},
      {{".h5", ".hdf5"}, "h5py.File(\"", "\")[\"NAME\"][...]", "a data set"},
      {{".parquet"}, "pandas.read_parquet(\"", "\").to_numpy(\"float32\")", "a table"},
      {{".pt", ".pth"}, "torch.load(\"", "\").numpy()", "a tensor"},
      // The byte 3 is the number of dimensions; the sizes follow it.
      {{".idx", "-ubyte"},
       "(lambda b: b[4 + 4 * b[3]:].reshape(b[4:4 + 4 * b[3]].view(\">u4\")))(numpy.fromfile(\"",
       "\", \"uint8\"))",
       "bytes"}};
  std::string lower = withoutCase(file);
  for (const char *ending : {".npy", ".npz", ".safetensors"})
    if (endsWith(lower, ending))
      return std::string("; the ending must be in lower case: rename the file, so that it ends in ") + ending;
  for (const Format &format : kFormats)
    for (const char *ending : format.endings)
      if (endsWith(file, ending))
        return "; in Python, numpy.save(\"x.npy\", " + (format.before + file + format.after) + ") writes one of " +
               format.source;
  return "";
}

std::string typeAdvice(ElementType wanted) {
  static constexpr const char *kNames[] = {"float32", "float64", "float16", nullptr,  "int64",  "int32", "int16",
                                           "int8",    "uint8",   "bool",    "uint16", "uint32", "uint64"};
  const char *name = kNames[static_cast<size_t>(wanted)];
  if (!name) // bf16, which NumPy does not have
    return "; save it as a tensor of torch.bfloat16 in a .safetensors file";
  return std::string("; save the array as x.astype(numpy.") + name + ")";
}

} // namespace cleave::rt
