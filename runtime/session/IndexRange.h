// The numbers that an integer input may hold. The compiler knows them from the operators that use the input, and writes
// them as properties of the plan:
//
//   labels.NAME   "10" for classes 0 to 9; "10,-100" if also -100 is allowed, for a sample that is not counted
//   indices.NAME  "10" for positions -10 to 9 (negative ones count from the end); more numbers may follow, as above
//   rows.NAME     "10" for positions 0 to 9, as in an embedding of PyTorch; more numbers may follow, as above
#ifndef CLEAVE_RUNTIME_SESSION_INDEXRANGE_H
#define CLEAVE_RUNTIME_SESSION_INDEXRANGE_H

#include "runtime/device/Rank.h"

#include <vector>

namespace cleave::rt {

class IndexRange {
public:
  // The ranges of an input. Every value must be in all of them.
  static std::vector<IndexRange> ofInput(const fb::Plan &plan, const fb::Port &input);
  // The same for each input of the program.
  static std::vector<std::vector<IndexRange>> ofInputs(const fb::Plan &plan, const fb::Program &program);

  // Checks the values that the input is given, which have the port's type. If it fails, `element` is the index of the
  // first value that is out of range.
  Status check(const fb::Port &port, Bytes bytes, uint64_t *element) const;

private:
  enum class Kind { Labels, Indices, Rows };
  IndexRange(const char *text, Kind kind, bool isOfCompiledLoss);
  template <typename T> Status checkAll(const fb::Port &port, Bytes bytes, uint64_t *element) const;
  std::string expected() const;
  std::string advice(int64_t value) const;

  Kind kind_;
  bool isOfCompiledLoss_; // the loss is that of cleave compile --loss
  int64_t first_ = 0, end_ = 0;
  std::vector<int64_t> others_;
};

} // namespace cleave::rt

#endif
