// The weights of an imported model: names, types and bytes. Nothing is copied.
//
// The bytes stay in the mapped external file, or in the protobuf string that contains them. The map keeps these owners
// alive. Rejected: DenseElementsAttr in the module, because it copies and uniques gigabytes.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_WEIGHTS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_WEIGHTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>
#include <vector>

namespace cleave {

struct WeightTensor {
  mlir::RankedTensorType type;
  llvm::ArrayRef<char> bytes; // little-endian, row-major, exactly the type's size (i1 takes one byte)
};

class WeightMap {
public:
  using Entry = std::pair<std::string, WeightTensor>;

  // Returns false if the name is taken.
  bool insert(llvm::StringRef name, WeightTensor tensor) {
    if (!index_.try_emplace(name, entries_.size()).second)
      return false;
    entries_.emplace_back(name.str(), tensor);
    return true;
  }
  // Returns null if there is no tensor of that name.
  const WeightTensor *find(llvm::StringRef name) const {
    auto it = index_.find(name);
    return it == index_.end() ? nullptr : &entries_[it->second].second;
  }
  // Keeps the entries for which `keep(name)` is true.
  template <typename F> void filter(F keep) {
    std::vector<Entry> kept;
    index_.clear();
    for (Entry &entry : entries_)
      if (keep(llvm::StringRef(entry.first))) {
        index_[entry.first] = kept.size();
        kept.push_back(std::move(entry));
      }
    entries_ = std::move(kept);
  }
  // Keeps `owner` alive as long as the map lives.
  void own(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }

  size_t size() const { return entries_.size(); }
  // The entries are in the order of the file.
  std::vector<Entry>::const_iterator begin() const { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const { return entries_.end(); }

private:
  std::vector<Entry> entries_;
  llvm::StringMap<size_t> index_;
  std::vector<std::shared_ptr<const void>> owners_;
};

} // namespace cleave

#endif
