#include "compiler/Target/Target.h"

#include "compiler/Support/Usage.h"
#include "runtime/base/NearestName.h"
#include "runtime/plan/TargetFamily.h"

using namespace cleave;

llvm::Expected<std::unique_ptr<Target>> cleave::parseTarget(llvm::StringRef text) {
  auto [name, options] = text.split(',');
  llvm::StringRef family = rt::targetFamily(name);
  if (family == "host")
    return makeHostTarget(name, options);
  if (family == "cuda")
    return makeCudaTarget(name, options);
  std::vector<std::string> names{"host",       "host:avx2",  "host:avx512", "host:generic",
                                 "cuda:sm_80", "cuda:sm_90", "cuda:sm_100"};
  return usageError("--target " + text,
                    "this version compiles for " + rt::joinChoices(names) + rt::didYouMean(name, names));
}
