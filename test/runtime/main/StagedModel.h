// A model cut into stages, written by hand. It is complete: it trains with momentum, evaluates, and saves, on any mesh
// of pp x dp x fsdp ranks. It tests the runtime's part of pipelines, and needs no compiler.
//
//   y = x * w0 * w1 * w2 * w3, element by element;   loss = mean over the global batch of sum((y - t)^2) / 8
//
// Stage s of K has 4/K of the layers, and its kind is "stage<s>". Only the first stage has the port x. Only the last
// one has t and the scalars scalar.loss and scalar.eval_*. All micro-batches go forward, then all go back (GPipe).
// Weights and momenta are split over fsdp. A global batch has 8 samples on every mesh, so that all meshes train the
// same.
#ifndef CLEAVE_TEST_RUNTIME_MAIN_STAGEDMODEL_H
#define CLEAVE_TEST_RUNTIME_MAIN_STAGEDMODEL_H

#include "cleave/model.h"
#include "test/runtime/device/PlanBuilder.h"

namespace cleave::rt::test {

struct StagedMesh {
  unsigned pp = 1, dp = 1, fsdp = 1; // pp in {1, 2, 4}, dp * fsdp in {1, 2, 4}
  unsigned microBatches() const { return 4 / (dp * fsdp); }
};

class StagedModel {
public:
  static constexpr unsigned kLayers = 4, kWidth = 8, kBatch = 2;

  explicit StagedModel(const StagedMesh &mesh);
  const cleave_model &model() const { return model_; }

private:
  std::unique_ptr<PlanBuilder> builder_;
  std::vector<cleave_kernel_fn> functions_;
  std::vector<uint64_t> facts_;
  std::string weights_;
  cleave_model model_{};
};

} // namespace cleave::rt::test

#endif
