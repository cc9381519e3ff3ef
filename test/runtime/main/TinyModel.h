// A model that is small enough to write by hand. It is complete: it trains with momentum over data ranks, evaluates,
// infers.
//
//   loss = mean over the global batch of sum((x - w)^2) / 2, so w becomes the mean of the data
//   infer: y = x * w;   with `text`: tokens i64[2, 8] -> logits f32[2, 8, 256] that prefer the next byte
#ifndef CLEAVE_TEST_RUNTIME_MAIN_TINYMODEL_H
#define CLEAVE_TEST_RUNTIME_MAIN_TINYMODEL_H

#include "cleave/model.h"
#include "test/runtime/device/PlanBuilder.h"

#include <functional>

namespace cleave::rt::test {

constexpr unsigned kWidth = 4, kBatch = 2, kContext = 8;

// The last two have ports without samples, which no compiler writes.
enum class TinyKind { Training, Inference, Text, LookingAhead, EmptyInference, EmptyText };

// A function that every rank calls in each training step, inside the kernel of the gradient. A test can stop a step
// with it. It may be set only while no step runs, and is empty by default.
std::function<void()> &duringTinyStep();

class TinyModel {
public:
  explicit TinyModel(unsigned dataRanks, TinyKind kind = TinyKind::Training);
  const cleave_model &model() const { return model_; }

private:
  void addStates();
  void addTraining(unsigned dataRanks);
  void addInference(unsigned batch);
  void addText(unsigned batch, bool looksAhead);
  void addPort(std::vector<std::unique_ptr<fb::PortT>> &ports, const char *name, fb::DType type,
               std::vector<int64_t> shape, unsigned region, uint64_t offset = 0);
  void launch(fb::ProgramT &program, const char *name, cleave_kernel_fn function, std::vector<fb::Buffer> buffers);

  PlanBuilder builder_;
  std::vector<cleave_kernel_fn> functions_;
  std::vector<uint64_t> facts_;
  std::string weights_;
  std::vector<uint64_t> plan_;
  cleave_model model_{};
  unsigned states_ = 0, input_ = 0, output_ = 0, values_ = 0, staging_ = 0;
};

} // namespace cleave::rt::test

#endif
