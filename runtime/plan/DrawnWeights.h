// Weights that are in no file (`cleave compile --init`): the plan states from which distribution each tensor is drawn.
//
// The field `source` of a segment with initial weights is the name of a tensor in the weights file. If the tensor is
// drawn, `source` has one of these forms instead:
//
//   normal(0, 0.02):h.0.attn.weight        mean, standard deviation
//   uniform(-0.5, 1):h.0.mlp.weight        lower end, width: [-0.5, 0.5)
//
// The text after the colon is the tensor's own name. Its random numbers depend on this name
// (runtime/state/RandomInit.h). The compiler refuses an ONNX initializer whose name has one of these forms, so no
// tensor's name can be read as a draw.
#ifndef CLEAVE_RUNTIME_PLAN_DRAWNWEIGHTS_H
#define CLEAVE_RUNTIME_PLAN_DRAWNWEIGHTS_H

#include "runtime/plan/Plan_generated.h"

#include <optional>
#include <string>
#include <string_view>

namespace cleave::rt {

struct Draw {
  enum class Kind { Normal, Uniform };
  Kind kind = Kind::Normal;
  double value = 0, scale = 1; // an element is value + scale * z; z is standard normal, or uniform in [0, 1)
  std::string name;            // the tensor's name

  // The text of this draw. parseDraw() returns the same numbers from it, bit by bit.
  std::string text() const;
};

// Returns nothing if the text is a plain name.
std::optional<Draw> parseDraw(std::string_view text);
// Returns how the segment is drawn, or nothing if it gets its initial values in another way.
std::optional<Draw> drawOf(const fb::Segment &segment);
// Returns the name that the segment has in files of weights: its own, or the one that the plan gives for it.
std::string sourceOf(const fb::Segment &segment);

} // namespace cleave::rt

#endif
