// The inputs and the output of a language model that `generate` works with, and what the inputs hold.
#ifndef CLEAVE_RUNTIME_SESSION_TOKENPORTS_H
#define CLEAVE_RUNTIME_SESSION_TOKENPORTS_H

#include "runtime/session/Generate.h"
#include "runtime/session/IndexRange.h"

namespace cleave::rt {

class TokenPorts {
public:
  // The ports that the options name, or the only ones that fit. Each other input that the output depends on must be
  // filled by --fill.
  static Status choose(const fb::Plan &plan, const fb::Program &program, const GenerateOptions &options,
                       TokenPorts *result);

  const fb::Port &logits() const { return *logits_; }
  size_t context() const { return static_cast<size_t>(logits_->shape()->Get(1)); }
  size_t vocabulary() const { return static_cast<size_t>(logits_->shape()->Get(2)); }

  // Lays the tokens at the beginning of every row of the rank's input, `filler` after them, and fills the other inputs.
  Status fill(Rank &rank, const uint64_t *tokens, size_t count, uint64_t filler) const;
  // The logits at a position of the first row.
  std::vector<double> read(Bytes output, size_t position) const;

private:
  struct Fill {
    const fb::Port *input;
    bool isPositions;
    double value;
    int64_t whole = 0; // of an integer input: exact beyond 2^53, too
  };
  Status chooseTokens(const fb::Plan &plan, const fb::Program &program, const std::string &name);
  // `input` is the one that holds the tokens; empty: not told.
  Status addFill(const fb::Program &program, const std::string &text, const std::string &input);
  bool isFilled(const fb::Port &port) const;
  // Whether what the fills give is what their inputs may hold.
  Status checkRanges(const fb::Plan &plan) const;
  Status checkFills(const fb::Plan &plan, const fb::Program &program) const;

  const fb::Port *tokens_ = nullptr, *logits_ = nullptr;
  std::vector<Fill> fills_;
  std::vector<IndexRange> ranges_;
};

} // namespace cleave::rt

#endif
