#include "kernels/common/host/Types.h"
#include "kernels/indexing/host/Indexing.h"

#include <cstring>

namespace cleave::rt {

Status IndexShape::read(const KernelArgs &args, IndexShape *s) {
  bool hasBatch = args.def().name != "take" && args.def().name != "put_add";
  *s = {hasBatch ? args["batch"] : 1, args["outer"], args["rows"], args["inner"], args["indices"]};
  CLEAVE_TRY(checkPositiveSizes({s->batch, s->outer, s->rows, s->inner}));
  return checkPositiveSizes({s->batch, s->outer, s->indices, s->inner});
}

namespace {

// Copies bytes, so one instance serves every element type.
template <typename Index> class Take : public HostKernel {
public:
  Take(const IndexShape &shape, size_t elementBytes, int threads)
      : s_(shape), elementBytes_(elementBytes), rowBytes_(static_cast<size_t>(s_.inner) * elementBytes),
        threads_(threads) {}

  std::vector<size_t> bufferBytes() const override {
    return {s_.tableElements() * elementBytes_, s_.allIndices() * sizeof(Index),
            s_.selectedElements() * elementBytes_};
  }

  Status run(void *const *buffers) override {
    auto *x = static_cast<const char *>(buffers[0]);
    auto *index = static_cast<const Index *>(buffers[1]);
    auto *y = static_cast<char *>(buffers[2]);
    CLEAVE_TRY(checkIndices(index, s_));
    bool parallel = s_.selectedElements() * elementBytes_ > kParallelBytes;
#pragma omp parallel for collapse(2) num_threads(threads_) if (parallel)
    for (int64_t o = 0; o < s_.batch * s_.outer; ++o)
      for (int64_t i = 0; i < s_.indices; ++i) {
        int64_t row = rowOf(index[o / s_.outer * s_.indices + i], s_.rows);
        copyRow(y + static_cast<size_t>(o * s_.indices + i) * rowBytes_,
                x + static_cast<size_t>(o * s_.rows + row) * rowBytes_);
      }
    return Status::ok();
  }

private:
  // Rows of one element (a batched take along the last dimension has them) are copied without a call.
  void copyRow(char *to, const char *from) const {
    if (rowBytes_ == 4)
      std::memcpy(to, from, 4);
    else if (rowBytes_ == 8)
      std::memcpy(to, from, 8);
    else
      std::memcpy(to, from, rowBytes_);
  }

  IndexShape s_;
  size_t elementBytes_, rowBytes_;
  int threads_;
};

} // namespace

Status makeTake(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  IndexShape shape;
  CLEAVE_TRY(IndexShape::read(args, &shape));
  size_t elementBytes = dtypeSize(args.dtype());
  if (elementBytes == 0)
    return invalidArgument("unknown element type " + std::to_string(args["dtype"]));
  return withIndex(args.dtype("index_dtype"), [&](auto type) -> Status {
    *result = std::make_unique<Take<typename decltype(type)::type>>(shape, elementBytes, threads);
    return Status::ok();
  });
}

} // namespace cleave::rt
