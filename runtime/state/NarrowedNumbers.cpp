#include "runtime/state/NarrowedNumbers.h"

#include "runtime/base/Log.h"
#include "runtime/base/OptionText.h"
#include "runtime/state/ElementValue.h"
#include "runtime/state/FloatConversion.h"

#include <cfloat>
#include <cmath>

namespace cleave::rt {

Status checkNarrowed(const NarrowedNumbers &numbers, const std::string &tensor, bool isTrained) {
  size_t place = findOverflow(numbers.from, numbers.source, numbers.to, numbers.target, numbers.count);
  if (place == numbers.count)
    return Status::ok();
  double value = loadElement(numbers.from, numbers.source + place * elementSize(numbers.from));
  std::string text = "weight '" + tensor + "', element " + std::to_string(numbers.first + place) + ": " +
                     realText(value) + " is beyond the numbers of " + elementName(numbers.to) +
                     ", the type of this state";
  if (isTrained)
    return invalidArgument(text + "; give other weights, or compile the model with another --precision");
  if (std::fabs(value) != FLT_MAX && std::fabs(value) != DBL_MAX)
    log(LogLevel::Warning, -1, text + ": it is infinite there");
  return Status::ok();
}

} // namespace cleave::rt
