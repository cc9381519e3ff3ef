#include "runtime/plan/KernelDefs.h"

#include "runtime/base/Hash.h"
#include "runtime/plan/Names.h"

#include <algorithm>

namespace cleave::rt {

// A window or shape with more dimensions than this comes from a damaged plan.
static constexpr int64_t kMaxRank = 8;

// Removes the text up to the delimiter, or all of it, and returns it without the delimiter.
static std::string_view takeUntil(std::string_view &text, char delimiter) {
  std::string_view head = text.substr(0, text.find(delimiter));
  text.remove_prefix(std::min(head.size() + 1, text.size()));
  return head;
}

// "dtype*ic/groups*in..." -> dtype, ic, groups (divides), in
static std::vector<KernelDef::FactorDef> makeFactors(std::string_view product) {
  std::vector<KernelDef::FactorDef> factors;
  for (bool divides = false; !product.empty();) {
    size_t end = std::min(product.find_first_of("*/"), product.size());
    std::string_view name = product.substr(0, end);
    consumeEllipsis(name);
    factors.push_back({name, divides});
    divides = end < product.size() && product[end] == '/';
    product.remove_prefix(std::min(end + 1, product.size()));
  }
  return factors;
}

static KernelDef makeDef(fb::KernelKind kind, std::string_view name, KernelWork work, std::string_view rates,
                         std::string_view buffers, std::string_view params) {
  KernelDef def{name, kind, work, rates, {}, {}};
  for (std::string_view buffer : splitNames(buffers)) {
    std::string_view bufferName = takeUntil(buffer, ':'), over = takeUntil(buffer, ':'), access = takeUntil(over, '=');
    def.buffers.push_back({bufferName,
                           access == "r"   ? fb::Access::read
                           : access == "w" ? fb::Access::write
                                           : fb::Access::read_write,
                           def.findBuffer(over), makeFactors(buffer)});
  }
  for (std::string_view param : splitNames(params)) {
    std::string_view paramName = takeUntil(param, ':'); // `param` is what follows it
    bool isList = consumeEllipsis(paramName);
    def.params.push_back({paramName, isList, param});
  }
  return def;
}

static std::vector<KernelDef> makeTable() {
  std::vector<KernelDef> table = {
#define CLEAVE_KERNEL(Kind, name, work, rates, buffers, params)                                                        \
  makeDef(fb::KernelKind::Kind, #name, KernelWork::work, #rates, buffers, params),
#include "runtime/plan/Kernels.def"
  };
  std::map<std::string, KernelDef *> byName;
  for (KernelDef &def : table)
    byName.emplace(def.name, &def);
  for (const KernelDef &def : table)
    for (const KernelDef::BufferDef &buffer : def.buffers)
      if (auto packer = byName.find(std::string(def.name) + "_pack_" + std::string(buffer.name));
          packer != byName.end())
        packer->second->packsFor = &def;
  return table;
}

const std::vector<KernelDef> &kernelDefs() {
  static const std::vector<KernelDef> table = makeTable();
  return table;
}

std::optional<size_t> KernelDef::findBuffer(std::string_view wanted) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].name == wanted)
      return i;
  return std::nullopt;
}

bool KernelDef::hasParam(std::string_view wanted) const {
  return std::any_of(params.begin(), params.end(), [&](const ParamDef &param) { return param.name == wanted; });
}

const KernelDef *findKernelDef(std::string_view name) {
  auto found =
      std::find_if(kernelDefs().begin(), kernelDefs().end(), [&](const KernelDef &def) { return def.name == name; });
  return found == kernelDefs().end() ? nullptr : &*found;
}

const KernelDef *packerOf(const KernelDef &def, const KernelDef::BufferDef &buffer) {
  auto packs = [&](const KernelDef &each) { return each.packsFor == &def && each.buffers[0].name == buffer.name; };
  auto found = std::find_if(kernelDefs().begin(), kernelDefs().end(), packs);
  return found == kernelDefs().end() ? nullptr : &*found;
}

// Covers only what a launch depends on, so plans stay valid if only `work` or `rates` change.
uint64_t kernelSetHash() {
  constexpr std::string_view definition =
#define CLEAVE_KERNEL(Kind, name, work, rates, buffers, params) #Kind "|" #name "|" buffers "|" params "\n"
#include "runtime/plan/Kernels.def"
      ;
  return fnv1a(definition);
}

static Status badParams(const KernelDef &def, const std::string &what) {
  return invalidArgument("kernel " + std::string(def.name) + ": " + what);
}

static Status checkRank(const KernelDef &def, int64_t rank) {
  if (rank >= 1 && rank <= kMaxRank)
    return Status::ok();
  return badParams(def, "expected a rank of 1 to " + std::to_string(kMaxRank) + "; got: " + std::to_string(rank));
}

Status KernelArgs::read(const KernelDef &def, const int64_t *values, size_t count, KernelArgs *result) {
  result->def_ = &def;
  result->values_.clear();
  size_t at = 0;
  for (const KernelDef::ParamDef &param : def.params) {
    size_t length = param.isList ? static_cast<size_t>((*result)["rank"]) : 1;
    if (count - at < length)
      return badParams(def, "the parameter list ends before " + std::string(param.name) + "; it has " +
                                std::to_string(count) + " values");
    result->values_[param.name].assign(values + at, values + at + length);
    at += length;
    if (param.name == "rank")
      CLEAVE_TRY(checkRank(def, (*result)["rank"]));
  }
  if (at != count)
    return badParams(def, "expected " + std::to_string(at) + " parameters; got: " + std::to_string(count));
  return result->checkShared();
}

Status KernelArgs::checkShared() const {
  for (const KernelDef::ParamDef &param : def_->params)
    if (int64_t value = (*this)[param.name], whole = (*this)[param.whole];
        !param.whole.empty() && value != 1 && value != whole)
      return badParams(*def_, "expected " + std::string(param.name) + " to be 1 or " + std::to_string(whole) + ", as " +
                                  std::string(param.whole) + " is; got: " + std::to_string(value));
  return Status::ok();
}

int64_t KernelArgs::operator[](std::string_view name) const {
  auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? 0 : found->second.front();
}

const std::vector<int64_t> &KernelArgs::list(std::string_view name) const {
  static const std::vector<int64_t> none;
  auto found = values_.find(name);
  return found == values_.end() ? none : found->second;
}

std::optional<fb::DType> KernelArgs::typeOf(const KernelDef::FactorDef &factor) const {
  if (values_.find(factor.name) == values_.end()) {
    for (fb::DType type : fb::EnumValuesDType())
      if (factor.name == fb::EnumNameDType(type))
        return type;
    return std::nullopt;
  }
  constexpr std::string_view type = "dtype";
  bool isType = factor.name.size() >= type.size() && factor.name.substr(factor.name.size() - type.size()) == type;
  return isType ? std::optional<fb::DType>(dtype(factor.name)) : std::nullopt;
}

std::vector<int64_t> KernelArgs::valuesOf(const KernelDef::FactorDef &factor) const {
  if (std::optional<fb::DType> type = typeOf(factor))
    return {static_cast<int64_t>(dtypeSize(*type))};
  auto found = values_.find(factor.name);
  return found == values_.end() ? std::vector<int64_t>{0} : found->second;
}

fb::DType KernelArgs::bufferType(size_t buffer) const {
  const std::vector<KernelDef::FactorDef> &factors = def_->buffers[buffer].factors;
  return factors.empty() ? fb::DType::u8 : typeOf(factors.front()).value_or(fb::DType::u8);
}

Status KernelArgs::bufferBytes(size_t buffer, uint64_t *bytes) const {
  const KernelDef::BufferDef &wanted = def_->buffers[buffer];
  *bytes = wanted.factors.empty() ? 0 : 1;
  for (const KernelDef::FactorDef &factor : wanted.factors)
    for (int64_t value : valuesOf(factor)) {
      if (value <= 0)
        return badParams(*def_, "expected a positive " + std::string(factor.name) + "; got: " + std::to_string(value));
      auto number = static_cast<uint64_t>(value);
      if (factor.divides && *bytes % number == 0)
        *bytes /= number;
      else if (factor.divides || __builtin_mul_overflow(*bytes, number, bytes))
        return badParams(*def_, "there is no such buffer as its parameters make '" + std::string(wanted.name) + "'");
    }
  return Status::ok();
}

KernelParams::KernelParams(const KernelDef &def) : def_(def) {
  for (const KernelDef::ParamDef &param : def.params)
    if (param.name.rfind("packed_", 0) == 0 || param.name == "channels_last")
      set(param.name, 0);
}

Status KernelParams::finish(std::vector<int64_t> *result) const {
  result->clear();
  auto rank = values_.find("rank");
  size_t used = 0;
  for (const KernelDef::ParamDef &param : def_.params) {
    auto found = values_.find(std::string(param.name));
    if (found == values_.end())
      return badParams(def_, "the parameter " + std::string(param.name) + " is not set");
    size_t length = param.isList ? static_cast<size_t>(rank->second.front()) : 1;
    if (found->second.size() != length)
      return badParams(def_, "the parameter " + std::string(param.name) + " takes " + std::to_string(length) +
                                 " values; got: " + std::to_string(found->second.size()));
    if (param.name == "rank")
      CLEAVE_TRY(checkRank(def_, found->second.front()));
    result->insert(result->end(), found->second.begin(), found->second.end());
    ++used;
  }
  if (used == values_.size())
    return Status::ok();
  for (const auto &[name, values] : values_)
    if (!def_.hasParam(name))
      return badParams(def_, "there is no parameter " + name);
  return Status::ok();
}

bool isFloating(fb::DType dtype) {
  return dtype == fb::DType::f32 || dtype == fb::DType::f64 || dtype == fb::DType::f16 || dtype == fb::DType::bf16;
}

size_t dtypeSize(fb::DType dtype) {
  switch (dtype) {
  case fb::DType::f64:
  case fb::DType::i64:
    return 8;
  case fb::DType::f32:
  case fb::DType::i32:
    return 4;
  case fb::DType::f16:
  case fb::DType::bf16:
  case fb::DType::i16:
    return 2;
  case fb::DType::i8:
  case fb::DType::u8:
  case fb::DType::boolean:
    return 1;
  }
  return 0;
}

} // namespace cleave::rt
