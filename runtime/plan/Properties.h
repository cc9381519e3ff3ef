// The properties of a plan: what the compiler says of it, as texts under keys. Properties.def declares each key; both
// ends name it by its constant, and openPlan() refuses a plan with a key that is not declared. So neither a key that is
// misspelt nor one that this runtime does not know yet passes for one that is absent.
//
//   std::string model = propertyOf(plan, kModelProperty);                               // "" where there is none
//   const flatbuffers::String *needs = findProperty(plan, kNeedsProperties.of("logits")); // of "needs.logits"
#ifndef CLEAVE_RUNTIME_PLAN_PROPERTIES_H
#define CLEAVE_RUNTIME_PLAN_PROPERTIES_H

#include "runtime/plan/PlanReader.h"

#include <string>
#include <string_view>

namespace cleave::rt {

// The keys that begin alike, one for each name of an input, an output or a type.
struct PropertyFamily {
  const char *prefix;
  std::string of(std::string_view name) const { return std::string(prefix) + "." + std::string(name); }
};

#define CLEAVE_PROPERTY(constant, key, writer, readers, meaning) inline constexpr char constant[] = key;
#define CLEAVE_PROPERTIES(constant, prefix, writer, readers, meaning) inline constexpr PropertyFamily constant{prefix};
#include "runtime/plan/Properties.def"

// The property's text; null where the plan does not have it.
const flatbuffers::String *findProperty(const fb::Plan &plan, std::string_view key);
// The same; empty where the plan does not have it.
std::string propertyOf(const fb::Plan &plan, std::string_view key);

// visit(key, text), in the plan's order.
template <typename Visit> void forEachProperty(const fb::Plan &plan, Visit visit) {
  for (uint32_t i = 0; i < lengthOf(plan.properties()); ++i)
    visit(textOf(plan.properties()->Get(i)->key()), textOf(plan.properties()->Get(i)->value()));
}

} // namespace cleave::rt

#endif
