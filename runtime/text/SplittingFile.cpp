// Reads "pre_tokenizer" of a tokenizer.json.
#include "runtime/text/TokenizerParts.h"

using nlohmann::json;

namespace cleave::rt {
namespace {

// How ByteLevel splits text into words (GPT-2).
constexpr const char *kWords = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// BERT's rule: white space ends words and is left out, and each punctuation character is a word.
constexpr const char *kPunctuation = R"([!-/:-@\[-`{-~\p{P}])";

class SplittingReader {
public:
  SplittingReader(Splitting *result, Alphabet *alphabet) : result_(*result), alphabet_(*alphabet) {}

  Status read(const json &splitting) {
    std::string type = typeOf(splitting);
    if (alphabet_ == Alphabet::Bytes)
      return unsupported("the pre_tokenizer '" + type + "' after ByteLevel");
    if (splitting.is_null())
      return Status::ok();
    if (type == "Sequence") {
      for (const json &each : splitting.at("pretokenizers"))
        CLEAVE_TRY(read(each));
      return Status::ok();
    }
    if (type == "Digits")
      return split(splitting.value("individual_digits", false) ? "\\p{N}" : "\\p{N}+", Matches::Isolated);
    if (type == "Split")
      return readSplit(splitting);
    if (type == "WhitespaceSplit")
      return split("\\s", Matches::Removed);
    if (type == "BertPreTokenizer") {
      CLEAVE_TRY(split("\\s", Matches::Removed));
      return split(kPunctuation, Matches::Isolated);
    }
    if (type == "Metaspace")
      return readMetaspace(splitting);
    return type == "ByteLevel" ? readByteLevel(splitting) : unsupported("the pre_tokenizer '" + type + "'");
  }

private:
  Status split(const std::string &pattern, Matches matches) {
    Regex regex;
    CLEAVE_TRY(compilePattern(pattern, &regex));
    result_.add(splitByPattern(std::move(regex), matches));
    return Status::ok();
  }

  Status readSplit(const json &splitting) {
    static const std::map<std::string, Matches> kBehaviors = {{"Isolated", Matches::Isolated},
                                                              {"Removed", Matches::Removed},
                                                              {"MergedWithPrevious", Matches::MergedWithPrevious},
                                                              {"MergedWithNext", Matches::MergedWithNext}};
    std::string behavior = splitting.value("behavior", "");
    auto found = kBehaviors.find(behavior);
    if (found == kBehaviors.end())
      return unsupported("a Split whose behavior is '" + behavior + "'");
    Regex regex;
    CLEAVE_TRY(readPattern(splitting.at("pattern"), &regex));
    result_.add(splitByPattern(std::move(regex), found->second, splitting.value("invert", false)));
    return Status::ok();
  }

  Status readByteLevel(const json &splitting) {
    alphabet_ = Alphabet::Bytes;
    if (splitting.value("add_prefix_space", true))
      result_.add(withSpaceBefore());
    return splitting.value("use_regex", true) ? split(kWords, Matches::Isolated) : Status::ok();
  }

  Status readMetaspace(const json &splitting) {
    Marking marking;
    marking.mark = splitting.value("replacement", marking.mark);
    bool adds = splitting.value("add_prefix_space", true); // in files before 2024
    std::string prepend = splitting.value("prepend_scheme", adds ? "always" : "never");
    if (marking.mark.empty() || (prepend != "always" && prepend != "first" && prepend != "never"))
      return unsupported("a Metaspace with the prepend_scheme '" + prepend + "' and the replacement '" + marking.mark +
                         "'");
    if (prepend == "first" && !result_.isEmpty()) // pieces do not know where in the text they began
      return unsupported("a Metaspace with the prepend_scheme 'first' after another pre_tokenizer");
    marking.prepend = prepend == "always"  ? Marking::Prepend::Always
                      : prepend == "first" ? Marking::Prepend::First
                                           : Marking::Prepend::Never;
    marking.splits = splitting.value("split", true);
    result_.add(markSpaces(marking));
    return Status::ok();
  }

  Splitting &result_;
  Alphabet &alphabet_;
};

} // namespace

Status readSplitting(const json &splitting, Splitting *result, Alphabet *alphabet) {
  *alphabet = Alphabet::Characters;
  return SplittingReader(result, alphabet).read(splitting);
}

} // namespace cleave::rt
