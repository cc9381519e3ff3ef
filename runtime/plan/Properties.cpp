#include "runtime/plan/Properties.h"

#include "runtime/plan/Checks.h"

#include <set>

namespace cleave::rt {

const flatbuffers::String *findProperty(const fb::Plan &plan, std::string_view key) {
  for (uint32_t i = 0; i < lengthOf(plan.properties()); ++i)
    if (textOf(plan.properties()->Get(i)->key()) == key)
      return plan.properties()->Get(i)->value();
  return nullptr;
}

std::string propertyOf(const fb::Plan &plan, std::string_view key) {
  return std::string(textOf(findProperty(plan, key)));
}

static bool isDeclared(std::string_view key) {
#define CLEAVE_PROPERTY(constant, name, writer, readers, meaning)                                                      \
  if (key == constant)                                                                                                 \
    return true;
#define CLEAVE_PROPERTIES(constant, prefix, writer, readers, meaning)                                                  \
  if (key.substr(0, sizeof prefix) == prefix ".")                                                                      \
    return true;
#include "runtime/plan/Properties.def"
  return false;
}

Status checkProperties(const fb::Plan &plan) {
  std::set<std::string_view> keys;
  Status status = Status::ok();
  forEachProperty(plan, [&](std::string_view key, std::string_view) {
    if (!status.isOk())
      return;
    if (!isDeclared(key))
      status = invalidArgument("the plan has the property '" + std::string(key) +
                               "', which this runtime does not know; compile the model again with the `cleave` of this "
                               "runtime");
    else if (!keys.insert(key).second)
      status = badPlan("it has the property '" + std::string(key) + "' twice");
  });
  return status;
}

} // namespace cleave::rt
