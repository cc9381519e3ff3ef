// A value, or a message for the user that says why there is none. This folder uses neither LLVM nor MLIR, so it has no
// llvm::Expected; its callers turn the message into one (compiler/Support/Error.h).
#ifndef CLEAVE_COMPILER_PIPELINE_RESULT_H
#define CLEAVE_COMPILER_PIPELINE_RESULT_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace cleave::pipeline {

struct Problem {
  std::string message; // what, where, expected and found, what to do
};

template <typename Value> class [[nodiscard]] Result {
public:
  Result(Value value) : value_(std::move(value)) {}
  Result(Problem problem) : problem_(std::move(problem)) {}

  explicit operator bool() const { return value_.has_value(); }
  Value &operator*() {
    assert(value_ && "a result that is a problem has no value");
    return *value_;
  }
  const Value &operator*() const { return *value_; }
  Value *operator->() { return &**this; }
  const Value *operator->() const { return &**this; }
  // Only for a result without a value.
  const std::string &message() const { return problem_.message; }

private:
  std::optional<Value> value_;
  Problem problem_;
};

} // namespace cleave::pipeline

#endif
