// Reads the parts of a tokenizer.json. Each part has a source file of its own. A part that Cleave does not know is an
// error that names it. Otherwise the tokens would differ from those that the model was trained with, and the output
// would be nonsense without an error. Exceptions of the JSON library pass through these functions, to
// Tokenizer::open(). With JSON_DIAGNOSTICS, each says where in the file the wrong part is: "(/model/vocab/5/1) type
// must be number, but is null". So this header must be included before all others that include the JSON library.
#ifndef CLEAVE_RUNTIME_TEXT_TOKENIZERPARTS_H
#define CLEAVE_RUNTIME_TEXT_TOKENIZERPARTS_H

#define JSON_DIAGNOSTICS 1

#include "runtime/text/Normalizer.h"
#include "runtime/text/PieceModel.h"
#include "runtime/text/Splitting.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace cleave::rt {

// Returns a member of the object, or null.
const nlohmann::json &partOf(const nlohmann::json &object, const char *name);
// Returns the part's "type", or "" if it has none.
std::string typeOf(const nlohmann::json &part);
// Returns the place in the file: "/model/vocab/5/1".
std::string placeOf(const nlohmann::json &part);
// Reads the number of a token. Fails for fractions and negative numbers, which get<uint64_t>() would change to other
// numbers.
Status readId(const nlohmann::json &id, uint64_t *token);
Status unsupported(const std::string &what);
// Compiles a regular expression of another library: \s and \S keep the meaning that they have there.
Status compilePattern(const std::string &pattern, Regex *result);
// Compiles {"String": ...} or {"Regex": ...} as a regular expression.
Status readPattern(const nlohmann::json &pattern, Regex *result);

Status readNormalizer(const nlohmann::json &normalizer, Normalizer *result);

// Bytes: the vocabulary writes bytes as ByteLevel's characters. Characters: it has plain text.
enum class Alphabet { Bytes, Characters };
Status readSplitting(const nlohmann::json &splitting, Splitting *result, Alphabet *alphabet);

// The text of each token, by its number. With Alphabet::Bytes it is bytes, otherwise the text in the vocabulary.
using TokenTexts = std::map<uint64_t, std::string>;
Status readModel(const nlohmann::json &model, Alphabet alphabet, std::shared_ptr<const PieceModel> *result,
                 TokenTexts *texts);

// Turns the vocabulary's texts back into text. With Alphabet::Bytes it is not needed, because they are the text.
class Decoding {
public:
  Status read(const nlohmann::json &decoder);
  Status textOf(const std::string &token, std::string *text) const;
  // How many spaces the first token of a text loses.
  size_t spacesOfFirst() const { return spacesOfFirst_; }

private:
  std::vector<std::pair<std::string, std::string>> replacements_;
  std::string wordPrefix_; // pieces with this prefix continue a word; others get a space before them
  bool hasWords_ = false, cleansUp_ = false, hasBytes_ = false;
  size_t spacesOfFirst_ = 0;
  bool hasFuse_ = false; // decoders after it would see the whole text
};

} // namespace cleave::rt

#endif
