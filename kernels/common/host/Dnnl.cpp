#include "kernels/common/host/Dnnl.h"

#include "kernels/common/host/CopyingReorder.h"
#include "kernels/common/host/TransposingReorder.h"
#include "kernels/common/host/Vectors.h"

#include <algorithm>
#include <cstring>

namespace cleave::rt {

namespace {

class DnnlKernel : public HostKernel {
public:
  DnnlKernel(std::vector<DnnlBinding> bindings, std::vector<DnnlCall> calls, std::vector<size_t> bytes)
      : bindings_(std::move(bindings)), calls_(std::move(calls)), bytes_(std::move(bytes)),
        addresses_(bindings_.size(), nullptr), stream_(DnnlBuilder::engine()) {}

  std::vector<size_t> bufferBytes() const override { return bytes_; }

  Status run(void *const *buffers) override {
    return guardDnnl([&] {
      for (size_t i = 0; i < bindings_.size(); ++i) {
        void *address = static_cast<char *>(buffers[bindings_[i].buffer]) + bindings_[i].offset;
        if (address != addresses_[i])
          bindings_[i].memory.set_data_handle(addresses_[i] = address);
      }
      for (const DnnlCall &call : calls_)
        call(stream_);
      return Status::ok(); // the CPU engine's stream is in order and synchronous
    });
  }

private:
  std::vector<DnnlBinding> bindings_;
  std::vector<DnnlCall> calls_;
  std::vector<size_t> bytes_;
  std::vector<void *> addresses_;
  dnnl::stream stream_;
};

} // namespace

dnnl::engine &DnnlBuilder::engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// Values of the enumeration are sets of features: a later value includes the features of the earlier ones.
static bool hasInstructions(dnnl::cpu_isa set) {
  auto wanted = static_cast<unsigned>(set);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

VectorLevel vectorLevel() {
#if defined(__x86_64__)
  static const bool hasFma = __builtin_cpu_supports("fma");
  if (hasFma && hasInstructions(dnnl::cpu_isa::avx512_core))
    return VectorLevel::Avx512;
  if (hasFma && hasInstructions(dnnl::cpu_isa::avx2))
    return VectorLevel::Avx2;
#endif
  return VectorLevel::Baseline;
}

bool DnnlBuilder::hasAvx512() { return hasInstructions(dnnl::cpu_isa::avx512_core); }

bool DnnlBuilder::hasNativeBFloat16() { return hasInstructions(dnnl::cpu_isa::avx512_core_bf16); }

dnnl::primitive_attr DnnlBuilder::attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory DnnlBuilder::bind(size_t buffer, size_t offset, const dnnl::memory::desc &desc) {
  dnnl::memory memory(desc, engine(), DNNL_MEMORY_NONE);
  bindings_.push_back({memory, buffer, offset});
  return memory;
}

dnnl::memory DnnlBuilder::scratch(const dnnl::memory::desc &desc) {
  size_t offset = scratchBytes_;
  scratchBytes_ = paddedBytes(scratchBytes_ + desc.get_size());
  scratchPeak_ = std::max(scratchPeak_, scratchBytes_);
  return bind(scratchBuffer_, offset, desc);
}

DnnlCall DnnlBuilder::execute(const dnnl::primitive &primitive, DnnlArgs args, const dnnl::memory::desc &scratchpad) {
  if (scratchpad.get_size()) {
    scratchpadBytes_ = std::max(scratchpadBytes_, scratchpad.get_size());
    args[DNNL_ARG_SCRATCHPAD] = bind(scratchBuffer_, 0, scratchpad);
    scratchpads_.push_back(bindings_.size() - 1);
  }
  return [primitive, args = std::move(args)](const dnnl::stream &stream) { primitive.execute(stream, args); };
}

DnnlCall DnnlBuilder::reorder(const dnnl::memory &from, const dnnl::memory &to) {
  dnnl::reorder::primitive_desc desc(engine(), from.get_desc(), engine(), to.get_desc(), attributes());
  bool isFast = std::strcmp(desc.impl_info_str(), "jit:blk") == 0; // between NCHW and nChw16c, as fast as memory
  auto use = [&](auto ours) -> DnnlCall {
    return [ours = std::move(ours), from, to](const dnnl::stream &) {
      ours.run(static_cast<const float *>(from.get_data_handle()), static_cast<float *>(to.get_data_handle()));
    };
  };
  if (auto ours = isFast ? std::nullopt : CopyingReorder::make(from.get_desc(), to.get_desc()))
    return use(std::move(*ours));
  if (auto ours = isFast ? std::nullopt : TransposingReorder::make(from.get_desc(), to.get_desc()))
    return use(std::move(*ours));
  return execute(dnnl::reorder(desc), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, desc.scratchpad_desc());
}

dnnl::memory DnnlBuilder::input(size_t buffer, const dnnl::memory::desc &plain, const dnnl::memory::desc &wanted,
                                size_t offset) {
  dnnl::memory memory = operand(buffer, plain, offset);
  if (plain == wanted)
    return memory;
  dnnl::memory copy = scratch(wanted);
  calls_.push_back(reorder(memory, copy));
  return copy;
}

dnnl::memory DnnlBuilder::output(size_t buffer, const dnnl::memory::desc &plain, const dnnl::memory::desc &wanted) {
  dnnl::memory memory = operand(buffer, plain);
  if (plain == wanted)
    return memory;
  dnnl::memory copy = scratch(wanted);
  after_.push_back(reorder(copy, memory));
  return copy;
}

dnnl::memory DnnlBuilder::addedOutput(size_t buffer, const dnnl::memory::desc &plain,
                                      const dnnl::memory::desc &wanted) {
  dnnl::memory memory = operand(buffer, plain), part = scratch(wanted);
  dnnl::post_ops sum;
  sum.append_sum(1.0f);
  dnnl::primitive_attr adding = attributes();
  adding.set_post_ops(sum);
  dnnl::reorder::primitive_desc desc(engine(), wanted, engine(), plain, adding);
  after_.push_back(
      execute(dnnl::reorder(desc), {{DNNL_ARG_FROM, part}, {DNNL_ARG_TO, memory}}, desc.scratchpad_desc()));
  return part;
}

void DnnlBuilder::repack(size_t buffer, const std::vector<DnnlPiece> &pieces) {
  if (std::all_of(pieces.begin(), pieces.end(), [](const DnnlPiece &piece) { return piece.stays(); }))
    return;
  // All pieces are read before the first one is written, because a piece may be where another one is written to.
  std::vector<dnnl::memory> copies;
  for (const DnnlPiece &piece : pieces) {
    copies.push_back(scratch(piece.wanted));
    calls_.push_back(reorder(operand(buffer, piece.plain, piece.from), copies.back()));
  }
  for (size_t i = 0; i < pieces.size(); ++i)
    calls_.push_back(reorder(copies[i], operand(buffer, pieces[i].wanted, pieces[i].to)));
}

void DnnlBuilder::call(const dnnl::primitive &primitive, DnnlArgs args, const dnnl::memory::desc &scratchpad) {
  calls_.push_back(execute(primitive, std::move(args), scratchpad));
  calls_.insert(calls_.end(), after_.begin(), after_.end());
  after_.clear();
}

std::unique_ptr<HostKernel> DnnlBuilder::finish(std::vector<size_t> bufferBytes) {
  for (size_t binding : scratchpads_)
    bindings_[binding].offset = scratchPeak_;
  bufferBytes.push_back(scratchPeak_ + paddedBytes(scratchpadBytes_));
  return std::make_unique<DnnlKernel>(std::move(bindings_), std::move(calls_), std::move(bufferBytes));
}

} // namespace cleave::rt
