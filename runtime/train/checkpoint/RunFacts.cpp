#include "runtime/train/checkpoint/RunFacts.h"

#include "runtime/plan/Properties.h"

namespace cleave::rt {
namespace {

struct FactKind {
  const char *name, *title;
  bool isCompiled; // `name` is a property of the plan
};

// In the order in which differences are reported.
constexpr FactKind kFacts[] = {
    {kGraphProperty, "operations of the model (a hash)", true},
    {kOptimizerProperty, "optimizer", true},
    {kParamGroupProperty, "--param-group", true},
    {kFreezeProperty, "--freeze", true},
    {kTieProperty, "--tie", true},
    {kBuffersProperty, "--buffers", true},
    {kLossProperty, "loss", true},
    {kLossAverageProperty, "--loss-average", true},
    {kBatchNormProperty, "--batch-norm", true},
    {kPrecisionProperty, "--precision", true},
    {kLossScaleProperty, "--loss-scale", true},
    {"global-batch", "global batch", false},
    {"samples", "samples of --data", false},
    {"data", "--data", false},
    {"val-data", "--val-data", false},
    {"last-batch", "--last-batch", false},
    {"lr", "--lr", false},
    {"lr-schedule", "--lr-schedule", false},
    {"steps", "steps of the schedule", false},
    {"clip-grad-norm", "--clip-grad-norm", false},
};
constexpr const char *kModel = kModelProperty;

std::string shown(const FactKind &kind, const std::string &value) {
  return !value.empty() ? value : kind.name == std::string(kPrecisionProperty) ? "the types of the model" : "none";
}

// Hashes of contents say nothing to a person.
std::string describeChange(const std::string &before, const std::string &after) {
  size_t end = before.rfind(kWithContents);
  bool isOfContents = end != std::string::npos && before.substr(0, end) == after.substr(0, after.rfind(kWithContents));
  return isOfContents ? before.substr(0, end) + ", now with other contents" : before + ", now " + after;
}

} // namespace

RunFacts planFacts(const fb::Plan &plan, const std::string &name) {
  RunFacts facts;
  std::string model = propertyOf(plan, kModel);
  facts[kModel] = model.empty() ? name : model;
  for (const FactKind &kind : kFacts)
    if (kind.isCompiled)
      facts[kind.name] = propertyOf(plan, kind.name);
  return facts;
}

bool differ(const RunFacts &saved, const RunFacts &now, const std::string &name) {
  auto before = saved.find(name), after = now.find(name);
  return before != saved.end() && after != now.end() && before->second != after->second;
}

Status compareFacts(const RunFacts &saved, const RunFacts &now, std::string *note) {
  note->clear();
  if (differ(saved, now, kModel))
    return invalidArgument(
        "the checkpoint is of model '" + saved.at(kModel) + "', this program was compiled from '" + now.at(kModel) +
        "'; its weights alone can be given as weights, by --weights in commands (of a renamed file of the same model, "
        "compile one with the name that it had)");
  for (const FactKind &kind : kFacts)
    if (differ(saved, now, kind.name))
      *note += (note->empty() ? "" : "; ") + std::string(kind.title) + " " +
               describeChange(shown(kind, saved.at(kind.name)), shown(kind, now.at(kind.name)));
  return Status::ok();
}

} // namespace cleave::rt
