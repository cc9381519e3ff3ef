// The library and built-in kernels that a plan may name, generated from Kernels.def.
//
// The integer parameters of a kernel are one flat list. The definition gives each position a name. A name that ends in
// "..." stands for a list, whose length is the value of the parameter `rank` before it. Both sides use names, and only
// this file knows the order:
//
//   compile time   KernelParams params(*findKernelDef("max_pool"));
//                  params.set("dtype", 0).set("n", 8).set("c", 32).set("rank", 2).set("in", {28, 28})...
//                  CLEAVE_TRY(params.finish(&list));            // fails with the name of a missing parameter
//   run time       KernelArgs args;
//                  CLEAVE_TRY(KernelArgs::read(*def, list, &args));
//                  args["n"], args.list("in")
#ifndef CLEAVE_RUNTIME_PLAN_KERNELDEFS_H
#define CLEAVE_RUNTIME_PLAN_KERNELDEFS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Alignment.h"
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
  // A factor of a buffer's size in bytes: a parameter (of a list, the product of its values), or the size of an element
  // type.
  struct FactorDef {
    std::string_view name;
    bool divides;
  };
  struct BufferDef {
    std::string_view name;
    fb::Access access;
    std::optional<size_t> over;     // the number of the buffer in whose place this one may be written
    std::vector<FactorDef> factors; // empty for scratch: the device computes its size

    // The parameter of the kernel that says in which format this buffer is: "packed_b".
    std::string packedParam() const { return "packed_" + std::string(name); }
  };
  struct ParamDef {
    std::string_view name;
    bool isList;              // `rank` values
    std::string_view whole{}; // the parameter that has the value of this one, unless this one is 1: one for all
  };
  std::string_view name;
  fb::KernelKind kind;
  KernelWork work;
  std::string_view rates; // the kernel whose measured rates hold for this one; "none" if none are measured
  std::vector<BufferDef> buffers;
  std::vector<ParamDef> params;
  const KernelDef *packsFor = nullptr; // of a kernel NAME_pack_B: the kernel NAME, whose buffer B it packs in place

  // The kernel that computes with the packed buffer: of a packer, the one that it packs for; otherwise this kernel.
  const KernelDef &reader() const { return packsFor ? *packsFor : *this; }
  bool hasScratch() const { return !buffers.empty() && buffers.back().name == "scratch"; }
  bool hasParam(std::string_view name) const;
  // Returns the number of the buffer with this name.
  std::optional<size_t> findBuffer(std::string_view name) const;
  // The buffer whose numbers a launch checks: it fails if one is out of range. None if no data can make it fail.
  std::optional<size_t> checkedBuffer() const { return findBuffer("index"); }
};

const std::vector<KernelDef> &kernelDefs();
// Returns null if there is no such kernel.
const KernelDef *findKernelDef(std::string_view name);
// Returns the kernel that packs this buffer of a kernel of the table; null if the buffer is always plain.
const KernelDef *packerOf(const KernelDef &def, const KernelDef::BufferDef &buffer);
// FNV-1a over the definitions, without work and rates. Plan.kernel_set has it.
uint64_t kernelSetHash();

// Parameters that are read from a flat list. Callers must only ask for names that the kernel has. For another name the
// answer is 0 or an empty list.
class KernelArgs {
public:
  // Fails if the list has another length than the definition, or if an operand is shared by a part of a size: a kernel
  // would read beyond it.
  static Status read(const KernelDef &def, const int64_t *values, size_t count, KernelArgs *result);
  static Status read(const KernelDef &def, const std::vector<int64_t> &values, KernelArgs *result) {
    return read(def, values.data(), values.size(), result);
  }

  const KernelDef &def() const { return *def_; }
  int64_t operator[](std::string_view name) const;
  const std::vector<int64_t> &list(std::string_view name) const;
  fb::DType dtype(std::string_view name = "dtype") const { return static_cast<fb::DType>((*this)[name]); }
  // Computes the size of a buffer from the parameters. A buffer without factors (scratch) has 0 bytes. Fails if a
  // parameter is not positive, if a division has a remainder, or if the product is too large.
  Status bufferBytes(size_t buffer, uint64_t *bytes) const;
  // The type of the buffer's elements: the first factor of its definition, or u8 if it has no factors (scratch).
  fb::DType bufferType(size_t buffer) const;

private:
  Status checkShared() const;
  std::vector<int64_t> valuesOf(const KernelDef::FactorDef &factor) const;
  std::optional<fb::DType> typeOf(const KernelDef::FactorDef &factor) const; // nothing if the factor is a size

  const KernelDef *def_ = nullptr;
  std::map<std::string_view, std::vector<int64_t>> values_;
};

// Builds the flat list from names and values.
class KernelParams {
public:
  explicit KernelParams(const KernelDef &def); // `packed_*` and `channels_last` are 0 until they are set
  KernelParams &set(std::string_view name, int64_t value) { return set(name, std::vector<int64_t>{value}); }
  KernelParams &set(std::string_view name, std::vector<int64_t> values) {
    values_[std::string(name)] = std::move(values);
    return *this;
  }
  // Fails if a parameter is missing or unknown, or if a list does not have `rank` values.
  Status finish(std::vector<int64_t> *result) const;

private:
  const KernelDef &def_;
  std::map<std::string, std::vector<int64_t>> values_;
};

// The buffer `scratch` of a launch begins on a multiple of this many bytes. Libraries expect that of their own
// allocators.
inline constexpr uint64_t kScratchAlignment = kBufferAlignment;

// The bytes of one element. 0 if the number is not a type.
size_t dtypeSize(fb::DType dtype);
// True for f64, f32, f16 and bf16.
bool isFloating(fb::DType dtype);

} // namespace cleave::rt

#endif
