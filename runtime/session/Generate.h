// `generate`: lets a language model continue a prompt, one token at a time.
//
// A token is a whole number below the size of the vocabulary. The model has an integer input [batch, context] and a
// floating-point output [batch, context, vocabulary]. It must be causal: its output at position i depends only on
// positions 0 to i. A trial run before the first token checks this. When the tokens no longer fit into the context, the
// first ones are left out.
//
//   --prompt "The "                                bytes, the tokens of a vocabulary of 256; bytes come out
//   --prompt-ids 464,995                           any vocabulary; numbers come out
//   --prompt "The " --tokenizer tokenizer.json     the vocabulary of that file; text comes out
#ifndef CLEAVE_RUNTIME_SESSION_GENERATE_H
#define CLEAVE_RUNTIME_SESSION_GENERATE_H

#include "runtime/session/Session.h"
#include "runtime/session/TokenSampler.h"
#include "runtime/text/Tokenizer.h"

#include <memory>
#include <optional>

namespace cleave::rt {

struct GenerateOptions {
  std::string input;  // empty: the only integer input [batch, context] that the output needs
  std::string output; // empty: the only output [batch, context, vocabulary]
  std::optional<std::string> prompt;
  std::string promptIds;          // "1,2,3", or "@FILE" with such numbers
  std::string tokenizer;          // a tokenizer.json; empty: none
  std::vector<std::string> fills; // INPUT=NUMBER or INPUT=positions: values of the other inputs
  uint64_t tokens = 200;
  std::string endTokens; // "2" or "2,</s>": generating ends after one of these; empty: none
  Sampling sampling;
  uint64_t seed = 0;
};

struct Prompt {
  bool isText = true; // the tokens are bytes, or those of the tokenizer
  std::vector<uint64_t> tokens;
  std::shared_ptr<const Tokenizer> tokenizer; // null: no tokenizer
};

// Makes the text to print of tokens, of the prompt and of those after it. Without a tokenizer, --prompt-ids prints
// numbers.
class TokenText {
public:
  explicit TokenText(const Prompt &prompt) : prompt_(prompt) {}
  std::string next(uint64_t token);

private:
  const Prompt &prompt_;
  bool begun_ = false; // a token had a text. The first one of some tokenizers loses its space
};

// Error messages begin with the name of the option, as those of generate().
Status readPrompt(const GenerateOptions &options, Prompt *prompt);

// Calls `show` with each new token. The same options give the same tokens on every process.
Status generate(Session &session, const GenerateOptions &options, const Prompt &prompt,
                const std::function<void(uint64_t)> &show);

} // namespace cleave::rt

#endif
