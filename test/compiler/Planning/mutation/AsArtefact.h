// A plan together with the rest of its artefact: the facts of the code and the seal of the meaning (KernelFacts.h,
// Seals.h), and the scratch that the device's library needs. For a changed plan, it returns what `cleave verify`
// of the artefact and the runtime say.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_ASARTEFACT_H
#define CLEAVE_TEST_PLANNING_MUTATION_ASARTEFACT_H

#include "compiler/Planning/Verify/PlanVerifier.h"
#include "runtime/plan/KernelFacts.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/Seals.h"

#include <map>
#include <string>
#include <vector>

namespace cleave::mutation {

class AsArtefact {
public:
  explicit AsArtefact(const rt::fb::Plan &plan) : seal_(rt::meaningSeal(plan)) {
    forEachKernel(plan, [&](const rt::fb::Kernel &kernel) {
      facts_.push_back(kernel.facts());
      scratch_[keyOf(kernel)] = kernel.scratch();
    });
  }

  // The rule of findings that only the artefact's seal finds.
  static constexpr const char *kSeal = "seal";

  // The rules that are broken, in the order of the findings. Empty: the plan is accepted.
  std::vector<std::string> brokenRules(const rt::fb::Plan &plan) const {
    if (!rt::checkFacts(plan, facts_.data(), facts_.size()).isOk())
      return {"facts"};
    std::vector<std::string> rules;
    for (const plan::Finding &finding : plan::verifyPlan(plan))
      rules.push_back(finding.rule);
    bool needsScratch = false;
    forEachKernel(plan, [&](const rt::fb::Kernel &kernel) {
      auto asked = scratch_.find(keyOf(kernel));
      needsScratch |= asked != scratch_.end() && kernel.scratch() < asked->second;
    });
    if (needsScratch)
      rules.push_back("scratch");
    if (rules.empty() && !rt::checkMeaningSeal(plan, seal_).isOk())
      rules.push_back(kSeal);
    return rules;
  }

private:
  using Key = std::pair<std::string, std::vector<int64_t>>;
  static Key keyOf(const rt::fb::Kernel &kernel) {
    Key key{kernel.name()->str(), {}};
    for (uint32_t i = 0; i < rt::lengthOf(kernel.params()); ++i)
      key.second.push_back(kernel.params()->Get(i));
    return key;
  }
  template <typename Use> static void forEachKernel(const rt::fb::Plan &plan, Use use) {
    for (const rt::fb::Plan *kind : rt::kindsOf(plan))
      for (uint32_t i = 0; i < rt::lengthOf(kind->kernels()); ++i)
        use(*kind->kernels()->Get(i));
  }

  std::vector<uint64_t> facts_;
  uint64_t seal_ = 0;
  std::map<Key, uint64_t> scratch_;
};

} // namespace cleave::mutation

#endif
