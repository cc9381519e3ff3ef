// Machine code of kernels that were compiled before. If a model is compiled again for another schedule or optimizer,
// nearly all kernels are the same, and LLVM takes most of the time of a compilation.
//
//   std::optional<KernelCache> cache = KernelCache::ofUser();
//   std::string key = cache->key(text, target);
//   if (std::optional<std::string> object = cache->find(key)) ...
//   cache->add(key, object);
//
// An entry's key is a hash of everything that the code depends on: the kernel's text, the processor, and the programs
// and libraries of this process (their build ids), including plug-ins. A plug-in's lowering may depend on nothing else.
// A damaged entry counts as missing. A folder that cannot be written to, or a full disk, is not an error: the kernel is
// then compiled.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_KERNELCACHE_H
#define CLEAVE_COMPILER_CODEGEN_HOST_KERNELCACHE_H

#include "compiler/Codegen/Host/HostTarget.h"

#include <optional>
#include <string>

namespace cleave {

class KernelCache {
public:
  // Returns the cache in the folder that CLEAVE_KERNEL_CACHE names, or else in `cleave/kernels` of $XDG_CACHE_HOME or
  // ~/.cache. None if it is `off`, if there is no such folder, if others may write to it, or if a library has no build
  // id.
  static std::optional<KernelCache> ofUser();
  static std::optional<KernelCache> in(llvm::StringRef folder);
  // Returns the folder that CLEAVE_KERNEL_CACHE names and that cannot be a cache. Empty if there is none such.
  static std::string refusedFolder();

  const std::string &getFolder() const { return folder; }
  std::string key(llvm::StringRef kernel, const HostTarget &target) const;
  std::optional<std::string> find(llvm::StringRef key) const;
  void add(llvm::StringRef key, llvm::StringRef object) const;
  // Removes entries that were not used for a week, and the oldest ones above 256 MiB. Runs at most every 20 minutes.
  void prune() const;

private:
  std::string path(llvm::StringRef key) const;

  std::string folder, compiler;
};

} // namespace cleave

#endif
