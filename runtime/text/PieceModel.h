// The model of a tokenizer: it finds the tokens of one piece of text.
#ifndef CLEAVE_RUNTIME_TEXT_PIECEMODEL_H
#define CLEAVE_RUNTIME_TEXT_PIECEMODEL_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace cleave::rt {

class PieceModel {
public:
  virtual ~PieceModel() = default;

  // Appends the tokens of a piece. The piece must be valid UTF-8.
  virtual Status encode(std::string_view piece, std::vector<uint64_t> *tokens) const = 0;
};

} // namespace cleave::rt

#endif
