// The parts of a tokenizer.json, each read by a file of its own. What Cleave does not know is an error that names it:
// other tokens than the model was trained with would give nonsense, silently. json's exceptions pass through these
// functions, to Tokenizer::open(). Each says where in the file the wrong part is, as "(/model/vocab/5/1) type must be
// number, but is null": so this header stands before all others that have json.
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

// A member of the object, or null.
const nlohmann::json &partOf(const nlohmann::json &object, const char *name);
// Its "type", or "".
std::string typeOf(const nlohmann::json &part);
// "/model/vocab/5/1"
std::string placeOf(const nlohmann::json &part);
// Fractions and negative numbers are none, of which get<uint64_t>() would make others.
Status readId(const nlohmann::json &id, uint64_t *token);
Status unsupported(const std::string &what);
// A regular expression of another library: \s and \S are as these have them.
Status compilePattern(const std::string &pattern, Regex *result);
// {"String": ...} or {"Regex": ...} as a regular expression.
Status readPattern(const nlohmann::json &pattern, Regex *result);

Status readNormalizer(const nlohmann::json &normalizer, Normalizer *result);

// Whether a piece's bytes are written as characters of ByteLevel in the vocabulary.
enum class Alphabet { Bytes, Characters };
Status readSplitting(const nlohmann::json &splitting, Splitting *result, Alphabet *alphabet);

// The text of each token, by its number: bytes with Alphabet::Bytes, else as it is written in the vocabulary.
using TokenTexts = std::map<uint64_t, std::string>;
Status readModel(const nlohmann::json &model, Alphabet alphabet, std::shared_ptr<const PieceModel> *result,
                 TokenTexts *texts);

// How the vocabulary's texts become text again. Of Alphabet::Bytes they are it.
class Decoding {
public:
  Status read(const nlohmann::json &decoder);
  std::string textOf(const std::string &token) const;
  // Spaces that the first token of a text loses.
  size_t spacesOfFirst() const { return spacesOfFirst_; }

private:
  std::vector<std::pair<std::string, std::string>> replacements_;
  std::string wordPrefix_; // of pieces that do not begin a word; others have a space before them
  bool hasWords_ = false, cleansUp_ = false, hasBytes_ = false;
  size_t spacesOfFirst_ = 0;
  bool hasFuse_ = false; // what follows sees the whole text
};

} // namespace cleave::rt

#endif
