#include "compiler/Codegen/Host/HostTarget.h"

#include "runtime/base/NearestName.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace cleave;

static bool isX86() { return llvm::Triple(llvm::sys::getProcessTriple()).isX86(); }

static unsigned widthOf(const llvm::StringMap<bool> &features) {
  if (features.lookup("avx512f") && features.lookup("avx512vl"))
    return 512;
  return features.lookup("avx") ? 256 : 128;
}

HostTarget HostTarget::detect() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  llvm::SmallVector<std::string> present;
  for (const auto &feature : features)
    if (feature.getValue())
      present.push_back(("+" + feature.getKey()).str());
  llvm::sort(present);
  HostTarget target;
  // On x86 the name is the baseline's, so that only features that CPUID reports are added to it.
  target.cpu = isX86() ? "x86-64" : llvm::sys::getHostCPUName().str();
  target.features = llvm::join(present, ",");
  target.vectorWidth = isX86() ? widthOf(features) : 128;
  target.hasFma = !isX86() || features.lookup("fma");
  // A wrong guess of the name only costs time, and changes no results except the order of sums.
  target.halvesVectors = target.vectorWidth == 512 && llvm::sys::getHostCPUName() == "znver4";
  return target;
}

llvm::Expected<HostTarget> HostTarget::parse(llvm::StringRef text) {
  auto [kind, level] = text.split(':');
  if (kind == "host" && text == "host")
    return detect();
  if (kind == "host" && level == "generic")
    return HostTarget{isX86() ? "x86-64" : "generic", "", 128, !isX86()};
  if (kind == "host" && isX86() && level == "avx2")
    return HostTarget{"x86-64-v3", "", 256, true};
  if (kind == "host" && isX86() && level == "avx512")
    return HostTarget{"x86-64-v4", "", 512, true};
  std::vector<std::string> names{"host", "host:generic", "host:avx2", "host:avx512"};
  return llvm::createStringError("unknown target '" + text + "'; expected " + rt::joinChoices(names) +
                                 rt::didYouMean(text, names));
}
