#include "kernels/common/host/Types.h"
#include "kernels/indexing/host/Indexing.h"

#include <cstring>

namespace cleave::rt {

namespace {

template <typename Index> class CheckIndex : public HostKernel {
public:
  CheckIndex(size_t count, const NumberRange &range) : count_(count), range_(range) {}

  std::vector<size_t> bufferBytes() const override { return {count_ * sizeof(Index), count_ * sizeof(Index)}; }

  Status run(void *const *buffers) override {
    auto *x = static_cast<const Index *>(buffers[0]);
    for (size_t i = 0; i < count_; ++i)
      if (!range_.holds(x[i]))
        return invalidArgument("index " + std::to_string(x[i]) + " at position " + std::to_string(i) +
                               " is out of range; expected " + range_.describe());
    if (buffers[1] != buffers[0])
      std::memcpy(buffers[1], x, count_ * sizeof(Index));
    return Status::ok();
  }

private:
  size_t count_;
  NumberRange range_;
};

} // namespace

Status makeCheckIndex(const KernelArgs &args, int, std::unique_ptr<HostKernel> *result) {
  CLEAVE_TRY(checkPositiveSizes({args["count"]}));
  size_t count = static_cast<size_t>(args["count"]);
  return withIndex(args.dtype(), [&](auto type) -> Status {
    *result = std::make_unique<CheckIndex<typename decltype(type)::type>>(count, NumberRange::of(args));
    return Status::ok();
  });
}

} // namespace cleave::rt
