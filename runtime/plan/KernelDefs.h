// The library and built-in kernels a plan may name, generated from Kernels.def.
//
// A kernel's integer parameters are one flat list; what each position means follows from the definition, where a
// name ending in "..." stands for a list as long as the value of the parameter `rank` before it:
//
//   compile time   KernelParams params(*findKernelDef("max_pool"));
//                  params.set("dtype", 0).set("n", 8).set("c", 32).set("rank", 2).set("in", {28, 28})...
//                  CLEAVE_TRY(params.finish(&list));            // names what is missing
//   run time       KernelArgs args;
//                  CLEAVE_TRY(KernelArgs::read(*def, list, &args));
//                  args["n"], args.list("in")
//
// Parameters by name on both sides: the order of the list is nobody's business but this file's.
#ifndef CLEAVE_RUNTIME_PLAN_KERNELDEFS_H
#define CLEAVE_RUNTIME_PLAN_KERNELDEFS_H

#include "runtime/base/Status.h"
#include "runtime/plan/KernelWork.h"
#include "runtime/plan/Plan_generated.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

struct KernelDef {
  // A factor of a buffer's bytes: a parameter (the product of its values where it is a list), or an element type.
  struct FactorDef {
    std::string_view name;
    bool divides;
  };
  struct BufferDef {
    std::string_view name;
    fb::Access access;
    std::optional<size_t> over;     // the number of the buffer that this one, which is written, may be
    std::vector<FactorDef> factors; // none: the device says (scratch)
  };
  struct ParamDef {
    std::string_view name;
    bool isList; // `rank` values
  };
  std::string_view name;
  fb::KernelKind kind;
  KernelWork work;
  std::string_view rates; // the kernel by whose measured rates it computes; "none" where none are measured
  std::vector<BufferDef> buffers;
  std::vector<ParamDef> params;

  bool hasScratch() const { return !buffers.empty() && buffers.back().name == "scratch"; }
  bool hasParam(std::string_view name) const;
  // The number of the buffer of that name.
  std::optional<size_t> findBuffer(std::string_view name) const;
};

const std::vector<KernelDef> &kernelDefs();
// Null when there is no such kernel.
const KernelDef *findKernelDef(std::string_view name);
// FNV-1a over the whole definition; Plan.kernel_set.
uint64_t kernelSetHash();

// Parameters read from a flat list. Asking for a name that the kernel does not have is a defect of the caller and
// gives 0 or an empty list.
class KernelArgs {
public:
  static Status read(const KernelDef &def, const int64_t *values, size_t count, KernelArgs *result);
  static Status read(const KernelDef &def, const std::vector<int64_t> &values, KernelArgs *result) {
    return read(def, values.data(), values.size(), result);
  }

  const KernelDef &def() const { return *def_; }
  int64_t operator[](std::string_view name) const;
  const std::vector<int64_t> &list(std::string_view name) const;
  fb::DType dtype(std::string_view name = "dtype") const { return static_cast<fb::DType>((*this)[name]); }
  // The bytes of the buffer of that number, by its definition. Fails where a parameter is not positive or the product
  // is too large. A buffer without factors has 0.
  Status bufferBytes(size_t buffer, uint64_t *bytes) const;
  // The type of its elements, which is its definition's first factor; u8 where there is none (scratch).
  fb::DType bufferType(size_t buffer) const;

private:
  std::vector<int64_t> valuesOf(const KernelDef::FactorDef &factor) const;
  std::optional<fb::DType> typeOf(const KernelDef::FactorDef &factor) const; // nothing: a size

  const KernelDef *def_ = nullptr;
  std::map<std::string_view, std::vector<int64_t>> values_;
};

// Builds the flat list by name.
class KernelParams {
public:
  explicit KernelParams(const KernelDef &def); // `packed_B` is 0 until it is set
  KernelParams &set(std::string_view name, int64_t value) { return set(name, std::vector<int64_t>{value}); }
  KernelParams &set(std::string_view name, std::vector<int64_t> values) {
    values_[std::string(name)] = std::move(values);
    return *this;
  }
  // Every parameter must be set, no other, and lists must be as long as `rank`.
  Status finish(std::vector<int64_t> *result) const;

private:
  const KernelDef &def_;
  std::map<std::string, std::vector<int64_t>> values_;
};

// On a multiple of which the buffer `scratch` of a launch begins: what libraries take from their own allocators.
inline constexpr uint64_t kScratchAlignment = 64;

// Bytes of one element; 0 for a number that is not a type.
size_t dtypeSize(fb::DType dtype);

} // namespace cleave::rt

#endif
