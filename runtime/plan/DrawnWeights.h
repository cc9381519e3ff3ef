// Weights that no file holds (`cleave compile --init`): the plan says by which distribution a tensor is drawn.
//
// A segment that begins as weights names a tensor of the weights file. One that is drawn has, in the place of that name,
//
//   normal(0, 0.02):h.0.attn.weight        mean, standard deviation
//   uniform(-0.5, 1):h.0.mlp.weight        lower end, width: [-0.5, 0.5)
//
// and what follows the colon is the tensor's own name, of which its random numbers depend (runtime/state/RandomInit.h).
// The compiler refuses an ONNX initializer with a name of this form, so a tensor's name never reads as one.
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
  std::string name;            // of the tensor

  // Its text; parseDraw() gives the same numbers back, bit by bit.
  std::string text() const;
};

// Nothing where the text is a plain name.
std::optional<Draw> parseDraw(std::string_view text);
// How the segment is drawn; nothing where it begins in another way.
std::optional<Draw> drawOf(const fb::Segment &segment);

} // namespace cleave::rt

#endif
