#include "runtime/session/OutputNeeds.h"

#include "runtime/plan/NeededInputs.h"

namespace cleave::rt {

bool dependsOn(const fb::Plan &plan, const fb::Port &output, const fb::Port &input) {
  return isNeeded(plan, textOf(output.name()), textOf(input.name()));
}

const char *wholeBatchReason(const fb::Plan &plan, const fb::Port &output) {
  const flatbuffers::String *mixes = findProperty(plan, kMixesProperties.of(textOf(output.name())));
  std::string what = mixes ? mixes->str() : ""; // without the property, samples may be mixed in any way
  if (what == "nothing")
    return nullptr;
  return what == "size" ? "may depend on how many samples a batch has"
                        : "may be made of all samples of a batch together";
}

} // namespace cleave::rt
