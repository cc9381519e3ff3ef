// A PTX module that has been loaded. Its kernels are callable code, and its variables are memory.
//
// Loading parses and translates everything. So a module with an instruction that is not emulated fails as a whole, and
// the message has the line. In the JIT, each kernel is a module of its own, which is compiled when the kernel is first
// used.
#pragma once
#include "test/cuda/emulated/ptx/Syntax.h"
#include "test/cuda/emulated/translate/FunctionTranslator.h"
#include <functional>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <memory>
#include <mutex>
#include <string>

namespace cleave::emulated {

struct Kernel {
  std::string name;
  void (*entry)(void **arguments) = nullptr;
  uint32_t sharedBytes = 0;
  std::vector<uint32_t> parameterBytes;
  uint32_t maxThreads = 1024;
  bool fences = false; // orders memory among blocks: its blocks may read values that other blocks wrote
  uint32_t requiredThreads[3] = {0, 0, 0}; // 0: any
};

// Allocates memory for a variable of the module, and fills it with `initial` and then zeros.
using AllocateVariable = std::function<uint64_t(uint64_t bytes, const std::vector<uint8_t> &initial)>;

class KernelModule {
public:
  // Returns null and an error message if it fails.
  static std::unique_ptr<KernelModule> load(const std::string &text, const AllocateVariable &allocate,
                                            std::string &error);
  ~KernelModule();

  // Compiles the kernel at the first call. Returns null if there is no such kernel (`error` is empty), or if it does
  // not compile.
  const Kernel *find(const std::string &name, std::string &error);
  // The address and size of a variable; false if there is none.
  bool variable(const std::string &name, uint64_t &address, uint64_t &bytes) const;
  const ptx::Module &source() const { return ptxModule; }
  std::vector<uint64_t> variableAddresses() const;

private:
  KernelModule() = default;
  bool prepare(const AllocateVariable &allocate, std::string &error);
  bool translate(const ptx::Function &entry, std::string &error);

  ptx::Module ptxModule;
  ModuleContext context;
  std::map<std::string, Kernel> kernels;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::mutex mutex;
};

} // namespace cleave::emulated
