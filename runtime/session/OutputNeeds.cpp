#include "runtime/session/OutputNeeds.h"

namespace cleave::rt {

bool dependsOn(const fb::Plan &plan, const fb::Port &output, const fb::Port &input) {
  for (size_t i = 0; i < lengthOf(plan.properties()); ++i)
    if (textOf(plan.properties()->Get(i)->key()) == "needs." + output.name()->str())
      return ("," + plan.properties()->Get(i)->value()->str() + ",").find("," + input.name()->str() + ",") !=
             std::string::npos;
  return true; // it depends on all
}

} // namespace cleave::rt
