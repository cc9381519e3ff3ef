#include "compiler/Driver/Target.h"

#include "compiler/Driver/StatusError.h"
#include "compiler/Support/Usage.h"
#include "kernels/common/host/HostKernel.h"

#include <thread>

using namespace cleave;

llvm::Expected<TargetDescription> cleave::parseTarget(llvm::StringRef text) {
  auto [name, options] = text.split(',');
  if (!name.starts_with("host"))
    return usageError("--target " + text, "this version compiles for host, host:avx2, host:avx512 or host:generic");
  auto host = HostTarget::parse(name);
  if (!host)
    return usageError("--target " + text, llvm::toString(host.takeError()));
  TargetDescription target{name.str(), *host, std::max<int64_t>(1, std::thread::hardware_concurrency())};
  if (options.empty())
    return target;
  llvm::StringRef count = options;
  if (!count.consume_front("threads=") || count.getAsInteger(10, target.threads) || target.threads < 1 ||
      target.threads > 1024)
    return usageError("--target " + text, "expected threads=N with N from 1 to 1024; got: " + options);
  return target;
}

llvm::Expected<uint64_t> cleave::hostScratch(llvm::StringRef kernel, llvm::ArrayRef<int64_t> params, int64_t threads) {
  size_t bytes = 0;
  rt::Status status = rt::hostScratchBytes(kernel.str(), params.vec(), static_cast<int>(threads), &bytes);
  if (!status.isOk())
    return toError(status);
  return bytes;
}

llvm::Expected<uint64_t> cleave::hostPacked(llvm::StringRef packer, llvm::ArrayRef<int64_t> params, int64_t threads) {
  size_t bytes = 0;
  rt::Status status = rt::hostPackedBytes(packer.str(), params.vec(), static_cast<int>(threads), &bytes);
  if (!status.isOk())
    return toError(status);
  return bytes;
}
