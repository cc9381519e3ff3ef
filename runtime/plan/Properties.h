// The properties of a plan: texts under keys, in which the compiler describes the plan. Properties.def declares each
// key. Compiler and runtime name a key by its constant, and openPlan() refuses a plan with a key that is not declared.
// So a misspelt key, or one that this runtime does not know yet, is not mistaken for an absent one.
//
//   std::string model = propertyOf(plan, kModelProperty);                               // "" if it is absent
//   const flatbuffers::String *needs = findProperty(plan, kNeedsProperties.of("logits")); // the key "needs.logits"
#ifndef CLEAVE_RUNTIME_PLAN_PROPERTIES_H
#define CLEAVE_RUNTIME_PLAN_PROPERTIES_H

#include "runtime/plan/PlanReader.h"

#include <string>
#include <string_view>

namespace cleave::rt {

// Keys with one prefix: one key for each name of an input, an output or a type.
struct PropertyFamily {
  const char *prefix;
  std::string of(std::string_view name) const { return std::string(prefix) + "." + std::string(name); }
};

#define CLEAVE_PROPERTY(constant, key, writer, readers, meaning) inline constexpr char constant[] = key;
#define CLEAVE_PROPERTIES(constant, prefix, writer, readers, meaning) inline constexpr PropertyFamily constant{prefix};
#include "runtime/plan/Properties.def"

// Returns the property's text, or null if the plan does not have it.
const flatbuffers::String *findProperty(const fb::Plan &plan, std::string_view key);
// Returns the property's text, or an empty text if the plan does not have it.
std::string propertyOf(const fb::Plan &plan, std::string_view key);

// Calls visit(key, text) for each property, in the plan's order.
template <typename Visit> void forEachProperty(const fb::Plan &plan, Visit visit) {
  for (uint32_t i = 0; i < lengthOf(plan.properties()); ++i)
    visit(textOf(plan.properties()->Get(i)->key()), textOf(plan.properties()->Get(i)->value()));
}

} // namespace cleave::rt

#endif
