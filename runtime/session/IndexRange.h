// Which numbers an integer input may hold. The compiler knows it from the operators that use them, and writes
// properties of the plan:
//
//   labels.NAME   "10" for classes 0 to 9, "10,-100" where -100 means that a sample is not to be counted
//   indices.NAME  "10" for positions -10 to 9 (negative ones count from the end), likewise with other numbers allowed
#ifndef CLEAVE_RUNTIME_SESSION_INDEXRANGE_H
#define CLEAVE_RUNTIME_SESSION_INDEXRANGE_H

#include "runtime/device/Rank.h"

#include <vector>

namespace cleave::rt {

class IndexRange {
public:
  // The ranges of an input; all of them hold.
  static std::vector<IndexRange> ofInput(const fb::Plan &plan, const fb::Port &input);
  // The same of each input of the program.
  static std::vector<std::vector<IndexRange>> ofInputs(const fb::Plan &plan, const fb::Program &program);

  // The bytes are what the input is given, of the port's type. `element` is where the first one lies that does not
  // hold.
  Status check(const fb::Port &port, Bytes bytes, uint64_t *element) const;

private:
  IndexRange(const char *text, bool isLabel);
  template <typename T> Status checkAll(const fb::Port &port, Bytes bytes, uint64_t *element) const;
  std::string expected() const;

  bool isLabel_;
  int64_t first_ = 0, end_ = 0;
  std::vector<int64_t> others_;
};

} // namespace cleave::rt

#endif
