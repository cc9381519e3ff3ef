// The ports of a language model that `generate` uses: the input of the tokens, the output of the logits, and the values
// of all other inputs.
#ifndef CLEAVE_RUNTIME_SESSION_TOKENPORTS_H
#define CLEAVE_RUNTIME_SESSION_TOKENPORTS_H

#include "runtime/session/Generate.h"
#include "runtime/session/IndexRange.h"

namespace cleave::rt {

class TokenPorts {
public:
  // Chooses the ports that the options name, or the only ones that fit. Fails if the output depends on another input
  // that --fill does not fill.
  static Status choose(const fb::Plan &plan, const fb::Program &program, const GenerateOptions &options,
                       TokenPorts *result);

  const fb::Port &logits() const { return *logits_; }
  size_t context() const { return static_cast<size_t>(logits_->shape()->Get(1)); }
  size_t vocabulary() const { return static_cast<size_t>(logits_->shape()->Get(2)); }

  // Writes the tokens at the beginning of every row of the rank's input, and `filler` after them. Fills the other
  // inputs.
  Status fill(Rank &rank, const uint64_t *tokens, size_t count, uint64_t filler) const;
  // The logits at a position of the first row.
  std::vector<double> read(Bytes output, size_t position) const;

private:
  struct Fill {
    const fb::Port *input;
    bool isPositions;
    double value;
    int64_t whole = 0; // of an integer input: exact beyond 2^53 too
  };
  Status chooseTokens(const fb::Plan &plan, const fb::Program &program, const std::string &name);
  // `input` is the option --input: the name of the input that holds the tokens; empty if it is not given.
  Status addFill(const fb::Program &program, const std::string &text, const std::string &input);
  bool isFilled(const fb::Port &port) const;
  // Fails if a fill gives an input a value that the plan does not allow.
  Status checkRanges(const fb::Plan &plan) const;
  Status checkFills(const fb::Plan &plan, const fb::Program &program) const;

  const fb::Port *tokens_ = nullptr, *logits_ = nullptr;
  std::vector<Fill> fills_;
  std::vector<IndexRange> ranges_;
};

} // namespace cleave::rt

#endif
