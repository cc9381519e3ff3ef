#include "runtime/session/OutputNeeds.h"

namespace cleave::rt {

static const fb::Property *findProperty(const fb::Plan &plan, const std::string &key) {
  for (size_t i = 0; i < lengthOf(plan.properties()); ++i)
    if (textOf(plan.properties()->Get(i)->key()) == key)
      return plan.properties()->Get(i);
  return nullptr;
}

bool dependsOn(const fb::Plan &plan, const fb::Port &output, const fb::Port &input) {
  const fb::Property *needs = findProperty(plan, "needs." + output.name()->str());
  return !needs || // it depends on all
         ("," + needs->value()->str() + ",").find("," + input.name()->str() + ",") != std::string::npos;
}

const char *wholeBatchReason(const fb::Plan &plan, const fb::Port &output) {
  const fb::Property *mixes = findProperty(plan, "mixes." + output.name()->str());
  std::string what = mixes ? mixes->value()->str() : ""; // what the plan does not say may be anything
  if (what == "nothing")
    return nullptr;
  return what == "size" ? "may depend on how many samples a batch has"
                        : "may be made of all samples of a batch together";
}

} // namespace cleave::rt
