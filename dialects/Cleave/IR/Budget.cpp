#include "dialects/Cleave/IR/Budget.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/Support/MathExtras.h"

using namespace cleave;

namespace {
struct Limit {
  uint64_t base;
  double perByte; // of the file
  const char *unit;
};
// A node needs at least 8 bytes of a file, so the file's own nodes are always within the limit.
constexpr Limit kLimits[] = {{100000, 0.125, "nodes"},
                             {200000, 1, "operations"},
                             {uint64_t(1) << 25, 1, "constant elements"},
                             {uint64_t(256) << 20, 4, "bytes of copies"},
                             {uint64_t(1) << 24, 16, "scalar operations on constants"},
                             {uint64_t(1) << 24, 16, "steps"}};
} // namespace

Budget::Budget(mlir::Dialect *dialect) : Base(dialect) { begin(0, 1); }

Budget &Budget::of(mlir::MLIRContext *context) {
  return *context->getOrLoadDialect<CleaveDialect>()->getRegisteredInterface<Budget>();
}

void Budget::begin(uint64_t fileBytes, uint64_t factor) {
  factor_ = factor;
  for (auto [kind, limit] : llvm::enumerate(kLimits)) {
    uint64_t whole = limit.base + uint64_t(limit.perByte * double(fileBytes));
    left_[kind] = limits_[kind] = llvm::SaturatingMultiply(whole, factor);
  }
  asker_ = "";
  exhausted_ = false;
  std::lock_guard<std::mutex> lock(mutex_);
  refusal_.clear();
}

std::optional<uint64_t> Budget::take(Kind kind, uint64_t amount, llvm::function_ref<uint64_t(uint64_t)> mayTake) {
  std::atomic<uint64_t> &left = left_[size_t(kind)];
  uint64_t available = left;
  while (!exhausted_ && amount <= mayTake(available))
    if (left.compare_exchange_weak(available, available - amount))
      return std::nullopt;
  return available;
}

static uint64_t all(uint64_t left) { return left; }

bool Budget::draw(Kind kind, uint64_t amount, llvm::StringRef asker) {
  auto left = take(kind, amount, all);
  return !left || refuse(kind, amount, *left, asker.empty() ? asker_ : asker);
}

bool Budget::draw(Kind kind, uint64_t amount, llvm::function_ref<std::string()> asker) {
  auto left = take(kind, amount, all);
  return !left || refuse(kind, amount, *left, asker());
}

bool Budget::drawOptional(Kind kind, uint64_t amount) {
  uint64_t kept = limits_[size_t(kind)] / 2;
  return !take(kind, amount, [&](uint64_t left) { return left > kept ? (left - kept) / 16 : 0; });
}

bool Budget::refuse(Kind kind, uint64_t amount, uint64_t left, llvm::StringRef asker) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (exhausted_.exchange(true))
    return false;
  const char *unit = kLimits[size_t(kind)].unit;
  // The factor that would allow this request. More may be requested later, so it is at least four times the present
  // one.
  uint64_t limit = limits_[size_t(kind)], wanted = llvm::SaturatingAdd(limit - left, amount);
  uint64_t enough = llvm::divideCeil(wanted, std::max<uint64_t>(limit / factor_, 1));
  refusal_ = (asker + (asker.empty() ? "" : ": ") + "asks for " + llvm::Twine(amount) + " " + unit + "; of the " +
              llvm::Twine(limit) + " that a file of this size may use, " + llvm::Twine(left) +
              " are left; if the model is meant to be like that, raise the limits with --budget " +
              llvm::Twine(std::max(enough, llvm::SaturatingMultiply(factor_, uint64_t(4)))) + " or more")
                 .str();
  return false;
}

std::optional<std::string> Budget::refusal() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return exhausted_ ? std::optional<std::string>(refusal_) : std::nullopt;
}
