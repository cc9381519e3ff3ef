#include "kernels/common/host/ThroughFloat.h"

#include "kernels/common/host/Types.h"
#include "runtime/base/HalfArrays.h"

#include <algorithm>

namespace cleave::rt {

namespace {

constexpr size_t kChunk = 4096; // elements that a thread converts at a time

template <typename Convert> void inChunks(size_t count, int threads, Convert convert) {
  auto chunks = static_cast<int64_t>((count + kChunk - 1) / kChunk);
#pragma omp parallel for num_threads(threads) if (count * 4 > kParallelBytes)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    size_t first = static_cast<size_t>(chunk) * kChunk;
    convert(first, std::min(kChunk, count - first));
  }
}

template <typename T> void widenAll(const void *source, float *target, size_t count, int threads) {
  inChunks(count, threads,
           [&](size_t first, size_t length) { widen(static_cast<const T *>(source) + first, target + first, length); });
}
template <typename T> void narrowAll(const float *source, void *target, size_t count, int threads) {
  inChunks(count, threads,
           [&](size_t first, size_t length) { narrow(source + first, static_cast<T *>(target) + first, length); });
}

class ThroughFloat : public HostKernel {
public:
  ThroughFloat(std::unique_ptr<HostKernel> inner, std::vector<ConvertedBuffer> buffers, int threads)
      : inner_(std::move(inner)), buffers_(std::move(buffers)), threads_(threads) {
    for (const ConvertedBuffer &buffer : buffers_) {
      bytes_.push_back(buffer.count * dtypeSize(buffer.dtype));
      offsets_.push_back(copiedBytes_);
      if (isConverted(buffer))
        copiedBytes_ += paddedBytes(buffer.count * sizeof(float));
    }
    bytes_.push_back(copiedBytes_ + inner_->bufferBytes().back());
    arguments_.resize(bytes_.size());
  }

  std::vector<size_t> bufferBytes() const override { return bytes_; }

  Status run(void *const *buffers) override {
    auto *scratch = static_cast<char *>(buffers[buffers_.size()]);
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const ConvertedBuffer &buffer = buffers_[i];
      arguments_[i] = isConverted(buffer) ? scratch + offsets_[i] : buffers[i];
      auto *copy = static_cast<float *>(arguments_[i]);
      if (buffer.read && buffer.dtype == fb::DType::bf16)
        widenAll<BFloat16>(buffers[i], copy, buffer.count, threads_);
      else if (buffer.read && buffer.dtype == fb::DType::f16)
        widenAll<Float16>(buffers[i], copy, buffer.count, threads_);
    }
    arguments_.back() = scratch + copiedBytes_;
    CLEAVE_TRY(inner_->run(arguments_.data()));
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const ConvertedBuffer &buffer = buffers_[i];
      auto *copy = static_cast<const float *>(arguments_[i]);
      if (buffer.written && buffer.dtype == fb::DType::bf16)
        narrowAll<BFloat16>(copy, buffers[i], buffer.count, threads_);
      else if (buffer.written && buffer.dtype == fb::DType::f16)
        narrowAll<Float16>(copy, buffers[i], buffer.count, threads_);
    }
    return Status::ok();
  }

private:
  static bool isConverted(const ConvertedBuffer &buffer) { return buffer.dtype != fb::DType::f32; }

  std::unique_ptr<HostKernel> inner_;
  std::vector<ConvertedBuffer> buffers_;
  int threads_;
  std::vector<size_t> bytes_, offsets_;
  size_t copiedBytes_ = 0;
  std::vector<void *> arguments_;
};

} // namespace

std::unique_ptr<HostKernel> makeThroughFloat(std::unique_ptr<HostKernel> inner, std::vector<ConvertedBuffer> buffers,
                                             int threads) {
  return std::make_unique<ThroughFloat>(std::move(inner), std::move(buffers), threads);
}

} // namespace cleave::rt
