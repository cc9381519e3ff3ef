// Machine code of kernels that were compiled before. A model that is compiled for another schedule or optimizer has
// nearly the same kernels, and LLVM takes most of the time of a compilation.
//
//   std::optional<KernelCache> cache = KernelCache::ofUser();
//   std::string key = cache->key(text, target);
//   if (std::optional<std::string> object = cache->find(key)) ...
//   cache->add(key, object);
//
// An entry's key is a hash of all that the code depends on: the kernel's text, the processor, and the programs and
// libraries of this process (their build ids), plug-ins among them; a plug-in's lowering may depend on nothing else. An
// entry that is damaged is not there. A folder that cannot be written to, or a full disk, is no error: the kernel is
// compiled.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_KERNELCACHE_H
#define CLEAVE_COMPILER_CODEGEN_HOST_KERNELCACHE_H

#include "compiler/Codegen/Host/HostTarget.h"

#include <optional>
#include <string>

namespace cleave {

class KernelCache {
public:
  // The folder that CLEAVE_KERNEL_CACHE names, else `cleave/kernels` in $XDG_CACHE_HOME or ~/.cache. None where it is
  // `off`, where there is no such folder, where others may write to it, or where a library has no build id.
  static std::optional<KernelCache> ofUser();
  static std::optional<KernelCache> in(llvm::StringRef folder);

  const std::string &getFolder() const { return folder; }
  std::string key(llvm::StringRef kernel, const HostTarget &target) const;
  std::optional<std::string> find(llvm::StringRef key) const;
  void add(llvm::StringRef key, llvm::StringRef object) const;
  // Removes what was not used for a week, and the oldest above 256 MiB. Looks at most every 20 minutes.
  void prune() const;

private:
  std::string path(llvm::StringRef key) const;

  std::string folder, compiler;
};

} // namespace cleave

#endif
