#include "runtime/session/Generate.h"

#include "runtime/base/EmptyItem.h"
#include "runtime/base/FileMapping.h"
#include "runtime/base/OptionText.h"
#include "runtime/base/Philox.h"
#include "runtime/session/DrawnNumbers.h"
#include "runtime/session/TokenPorts.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace cleave::rt {
namespace {

// For messages: a file that does not hold tokens may have a word of a megabyte.
std::string shortened(const std::string &word) {
  constexpr size_t kShown = 40;
  return word.substr(0, kShown) + (word.size() > kShown ? "..." : "");
}

Status refuseEmptyItem(const std::string &list, const std::string &option) {
  std::string wrong = describeEmptyItem(list);
  return wrong.empty() ? Status::ok() : invalidArgument(option + ": " + wrong + "; leave the comma out");
}

// Parses whole numbers that commas or white space separate.
Status parseTokens(std::string text, const std::string &option, std::vector<uint64_t> *tokens,
                   const std::string &expected = "token ids, as in 1,2,3") {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    uint64_t token = 0;
    if (!parseUnsigned(word, &token))
      return invalidArgument(option + ": expected " + expected + "; got: " + shortened(word));
    tokens->push_back(token);
  }
  return Status::ok();
}

// The same as parseTokens, but also accepts names of the tokenizer: "2,<|endoftext|>".
Status parseEnds(const std::string &text, const Tokenizer *tokenizer, std::vector<uint64_t> *tokens) {
  if (text.empty())
    return Status::ok();
  std::string expected = tokenizer ? "token ids, or names of the tokenizer's added tokens, as in 2,</s>"
                                   : "token ids, as in 1,2,3 (names of tokens need --tokenizer)";
  CLEAVE_TRY(refuseEmptyItem(text, "--end-token"));
  for (const std::string &word : splitText(text, ',')) {
    auto named = tokenizer ? tokenizer->tokenOf(word) : std::nullopt;
    if (named)
      tokens->push_back(*named);
    else
      CLEAVE_TRY(parseTokens(word, "--end-token", tokens, expected));
  }
  if (tokens->empty())
    return invalidArgument("--end-token: expected " + expected + "; got: " + shortened(text));
  return Status::ok();
}

// A file may have commas at the ends of its lines, as writers of CSV make them.
Status readTokens(const std::string &ids, std::vector<uint64_t> *tokens) {
  if (ids.rfind('@', 0) != 0) {
    CLEAVE_TRY(refuseEmptyItem(ids, "--prompt-ids"));
    return parseTokens(ids, "--prompt-ids", tokens);
  }
  FileMapping file; // does not block on a pipe, and does not fill the memory from a device
  if (Status status = FileMapping::open(ids.substr(1), &file); !status.isOk())
    return invalidArgument("--prompt-ids: " + status.message() +
                           "; give token ids, as in 1,2,3, or @FILE with a text file of them");
  std::string text(reinterpret_cast<const char *>(file.data()), file.size());
  return parseTokens(std::move(text), "--prompt-ids: " + ids.substr(1), tokens);
}

Status checkVocabulary(const Prompt &prompt, const std::vector<uint64_t> &ends, size_t vocabulary) {
  std::string size = std::to_string(vocabulary);
  if (prompt.isText && !prompt.tokenizer && vocabulary != 256)
    return invalidArgument("--prompt: the model has a vocabulary of " + size +
                           " tokens, and only models with the 256 bytes as tokens take text as it is; give the file of "
                           "the model's tokenizer, --tokenizer tokenizer.json, or the prompt as token ids, as in "
                           "--prompt-ids 1,2,3");
  for (uint64_t token : prompt.tokens)
    if (token >= vocabulary)
      return invalidArgument(prompt.isText ? "--tokenizer: it gives token " + std::to_string(token) +
                                                 " for the prompt, and the model has tokens 0 to " +
                                                 std::to_string(vocabulary - 1) + "; give the tokenizer of this model"
                                           : "--prompt-ids: the model has tokens 0 to " +
                                                 std::to_string(vocabulary - 1) + "; got: " + std::to_string(token));
  for (uint64_t token : ends)
    if (token >= vocabulary)
      return invalidArgument("--end-token: the model has tokens 0 to " + std::to_string(vocabulary - 1) +
                             "; got: " + std::to_string(token));
  return Status::ok();
}

class Generator {
public:
  Generator(Session &session, const fb::Program &program, const TokenPorts &ports, uint64_t seed)
      : session_(session), program_(program), ports_(ports), numbers_(session, static_cast<int64_t>(seed)) {}

  // Computes the logits after the last token. Each token has random numbers of its own.
  Status next(const std::vector<uint64_t> &tokens, std::vector<double> *result) {
    numbers_.next();
    return predict(tokens, 0, result);
  }

  // Runs the model twice, with different tokens at later positions only. A causal model gives the same output.
  Status checkCausal(const Prompt &prompt) {
    if (ports_.context() < 2)
      return Status::ok();
    std::vector<uint64_t> half(ports_.context() / 2, prompt.tokens[0]);
    std::vector<double> first, second;
    CLEAVE_TRY(predict(half, 0, &first));
    CLEAVE_TRY(predict(half, ports_.vocabulary() / 2, &second));
    if (std::memcmp(first.data(), second.data(), first.size() * sizeof(double)) == 0)
      return Status::ok();
    return invalidArgument("the model is not causal: its answer at a position depends on later ones, so it cannot "
                           "generate; give the attention of its layers a causal mask, and train it so");
  }

private:
  // Positions after the last token hold `filler`.
  Status predict(const std::vector<uint64_t> &tokens, uint64_t filler, std::vector<double> *result) {
    size_t used = std::min(tokens.size(), ports_.context());
    const uint64_t *window = tokens.data() + tokens.size() - used;
    CLEAVE_TRY(session_.forEach([&](unsigned, Rank &rank) {
      CLEAVE_TRY(ports_.fill(rank, window, used, filler));
      return rank.run(program_);
    }));
    result->assign(ports_.vocabulary(), 0);
    for (unsigned local = 0; local < session_.localRanks(); ++local)
      if (Bytes logits = session_.rank(local).portBytes(ports_.logits(), 0); logits.data)
        *result = ports_.read(logits, used - 1);
    return session_.hasEverywhere(ports_.logits())
               ? Status::ok()
               : session_.share(reinterpret_cast<std::byte *>(result->data()), result->size() * sizeof(double),
                                session_.firstRankWith(ports_.logits()));
  }

  Session &session_;
  const fb::Program &program_;
  const TokenPorts &ports_;
  DrawnNumbers numbers_;
};

// The random number of the i-th token. It is the same on every process, and does not depend on earlier draws.
double uniformOf(uint64_t seed, uint64_t i) {
  Philox4 bits = philox4x32({static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
                            {static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0});
  return static_cast<double>((uint64_t(bits[0]) << 32 | bits[1]) >> 11) * 0x1p-53;
}

} // namespace

std::string TokenText::next(uint64_t token) {
  bool isFirst = !begun_;
  if (const Tokenizer *tokenizer = prompt_.tokenizer.get()) {
    begun_ |= !tokenizer->bytesOf(token).empty(); // special tokens have none
    return tokenizer->bytesOf(token, isFirst);
  }
  begun_ = true;
  return prompt_.isText ? std::string(1, static_cast<char>(token)) : (isFirst ? "" : ",") + std::to_string(token);
}

Status readPrompt(const GenerateOptions &options, Prompt *prompt) {
  prompt->isText = options.promptIds.empty();
  if (!options.tokenizer.empty()) {
    auto tokenizer = std::make_shared<Tokenizer>();
    CLEAVE_TRY(Tokenizer::open(options.tokenizer, tokenizer.get()).in("--tokenizer"));
    prompt->tokenizer = std::move(tokenizer);
  }
  if (!prompt->isText) {
    if (options.prompt)
      return invalidArgument("--prompt-ids: --prompt gives a prompt, too; give one of the two");
    CLEAVE_TRY(readTokens(options.promptIds, &prompt->tokens));
    return prompt->tokens.empty() ? invalidArgument("--prompt-ids holds no token; give at least one to begin with")
                                  : Status::ok();
  }
  std::string text = options.prompt.value_or("\n");
  if (prompt->tokenizer)
    CLEAVE_TRY(prompt->tokenizer->encode(text, &prompt->tokens).in("--prompt"));
  else
    for (char byte : text)
      prompt->tokens.push_back(static_cast<unsigned char>(byte));
  if (!prompt->tokens.empty())
    return Status::ok();
  return invalidArgument(text.empty() ? "--prompt is empty; give at least one byte to begin with"
                                      : "--prompt: the tokenizer makes no tokens of this text; give another text, or "
                                        "--prompt-ids");
}

Status generate(Session &session, const GenerateOptions &options, const Prompt &prompt,
                const std::function<void(uint64_t)> &show) {
  const fb::Program *program = nullptr;
  TokenPorts ports;
  std::vector<uint64_t> ends, tokens = prompt.tokens;
  CLEAVE_TRY(checkSampling(options.sampling));
  CLEAVE_TRY(parseEnds(options.endTokens, prompt.tokenizer.get(), &ends));
  CLEAVE_TRY(session.entry("infer", &program));
  CLEAVE_TRY(TokenPorts::choose(session.plan(), *program, options, &ports));
  CLEAVE_TRY(checkVocabulary(prompt, ends, ports.vocabulary()));
  Generator generator(session, *program, ports, options.seed);
  CLEAVE_TRY(generator.checkCausal(prompt));
  for (uint64_t i = 0; i < options.tokens; ++i) {
    std::vector<double> logits;
    uint64_t token = 0;
    CLEAVE_TRY(generator.next(tokens, &logits));
    CLEAVE_TRY(drawToken(logits, options.sampling, uniformOf(options.seed, i), &token));
    tokens.push_back(token);
    show(token);
    if (std::find(ends.begin(), ends.end(), token) != ends.end())
      break;
  }
  return Status::ok();
}

} // namespace cleave::rt
