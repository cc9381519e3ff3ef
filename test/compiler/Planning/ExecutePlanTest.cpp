// The runtime executes plans of the planning pipeline on two local ranks. They have only library kernels and
// collectives, and no generated code.
#include "compiler/Planning/Build/PlanWriter.h"
#include "compiler/Planning/Passes.h"
#include "kernels/common/host/HostKernel.h"
#include "runtime/comm/LocalWorld.h"
#include "runtime/device/Rank.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/PlanSummary.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

using namespace cleave;
using rt::Status;

namespace {

constexpr int kRanks = 2, kSize = 4;

// w becomes the sum over ranks of x^T (x w), and t becomes the sum over ranks of s.
const char *const source = R"(
module attributes {cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<16xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w", tensor<4x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<16xf32> {role = #cleave.role<gradient>,
    segments = [#cleave.segment<"g", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @s : tensor<f32> {role = #cleave.role<scalar>,
    segments = [#cleave.segment<"s", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @t : tensor<f32> {role = #cleave.role<scalar>,
    segments = [#cleave.segment<"t", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd(%x: tensor<4x4xf32> {cleave.name = "x"}) -> tensor<4x4xf32> {
    %0 = cleave.read @w : tensor<16xf32>
    %1 = cleave.reshape %0 : tensor<16xf32> -> tensor<4x4xf32>
    %2 = cleave.matmul %x, %1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
  func.func @c0.bwd(%y: tensor<4x4xf32> {cleave.residual = 0 : i64}, %x: tensor<4x4xf32> {cleave.name = "x"}) attributes {cleave.backward_of = @c0.fwd} {
    %0 = cleave.matmul %x, %y {transpose_lhs} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %1 = cleave.reshape %0 : tensor<4x4xf32> -> tensor<16xf32>
    cleave.write %1, @g : tensor<16xf32>
    return
  }
  func.func @update() {
    %0 = cleave.read @g : tensor<16xf32>
    %1 = shard.all_reduce %0 on @mesh grid_axes = [0] : tensor<16xf32> -> tensor<16xf32>
    cleave.write %1, @w : tensor<16xf32>
    %2 = cleave.read @s : tensor<f32>
    %3 = shard.all_reduce %2 on @mesh grid_axes = [0] : tensor<f32> -> tensor<f32>
    cleave.write %3, @t : tensor<f32>
    return
  }
})";

llvm::Expected<uint64_t> hostScratch(llvm::StringRef kernel, llvm::ArrayRef<int64_t> params, int64_t threads) {
  size_t bytes = 0;
  if (Status status = rt::hostScratchBytes({kernel.data(), kernel.size()}, params.vec(), threads, &bytes);
      !status.isOk())
    return llvm::createStringError(status.message());
  return bytes;
}

std::string compilePlan(const char *source) {
  mlir::MLIRContext context;
  context.loadDialect<CleaveDialect, plan::PlanDialect, mlir::func::FuncDialect, mlir::shard::ShardDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module)
    return "";
  plan::PlanningOptions options;
  options.scratch = hostScratch;
  mlir::PassManager manager(&context);
  plan::buildPlanningPipeline(manager, options);
  if (mlir::failed(manager.run(*module)))
    return "";
  llvm::Expected<std::string> bytes = plan::writePlan(*module);
  if (bytes)
    return *bytes;
  ADD_FAILURE() << llvm::toString(bytes.takeError());
  return "";
}

using Matrix = std::array<float, kSize * kSize>;

Matrix inputOf(int rank) {
  Matrix x;
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((i * 7 + 3 * rank) % 5) - 2;
  return x;
}

// Small integers, whose sums are exact in any order.
void addExpected(const Matrix &x, const Matrix &w, Matrix &sum) {
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j)
      for (int n = 0; n < kSize; ++n)
        for (int k = 0; k < kSize; ++k)
          sum[i * kSize + j] += x[n * kSize + i] * x[n * kSize + k] * w[k * kSize + j];
}

Status runRank(const rt::fb::Plan &plan, rt::LocalWorld &world, int index, const Matrix &w, Matrix *result, float *t,
               uint64_t *sent) {
  rt::Rank rank;
  rt::RankOptions options;
  options.rank = index;
  std::vector<cleave_kernel_fn> kernels(rt::lengthOf(plan.kernels()), nullptr);
  CLEAVE_TRY(rt::Rank::create(plan, kernels.data(), options, world.communicator(index), &rank));
  const rt::fb::Program &step = *rt::findProgram(plan, "train_step");
  Matrix x = inputOf(index);
  float s = static_cast<float>(index + 1);
  std::memcpy(rank.portBytes(*step.inputs()->Get(0), 0).data, x.data(), sizeof(x));
  std::memcpy(rank.stateBytes(*rt::findState(plan, "w")).data, w.data(), sizeof(w));
  std::memcpy(rank.stateBytes(*rt::findState(plan, "s")).data, &s, sizeof(s));
  CLEAVE_TRY(rank.run(step));
  std::memcpy(result->data(), rank.stateBytes(*rt::findState(plan, "w")).data, sizeof(w));
  std::memcpy(t, rank.stateBytes(*rt::findState(plan, "t")).data, sizeof(*t));
  *sent = rank.counters().bytesSent;
  return Status::ok();
}

TEST(ExecutePlan, TwoRanksComputeTheSumAndSendWhatThePlanSays) {
  std::string bytes = compilePlan(source);
  ASSERT_FALSE(bytes.empty());
  const rt::fb::Plan *plan = nullptr;
  Status opened = rt::openPlan(bytes.data(), bytes.size(), &plan);
  ASSERT_TRUE(opened.isOk()) << opened.message();

  Matrix w = inputOf(9), expected{};
  for (int r = 0; r < kRanks; ++r)
    addExpected(inputOf(r), w, expected);
  rt::LocalWorld world(kRanks);
  Matrix results[kRanks];
  float sums[kRanks];
  uint64_t sent[kRanks];
  Status statuses[kRanks];
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r)
    threads.emplace_back([&, r] { statuses[r] = runRank(*plan, world, r, w, &results[r], &sums[r], &sent[r]); });
  for (std::thread &thread : threads)
    thread.join();
  for (int r = 0; r < kRanks; ++r) {
    ASSERT_TRUE(statuses[r].isOk()) << statuses[r].message();
    EXPECT_EQ(results[r], expected);
    EXPECT_EQ(sums[r], 3.0f);
    // 2 (N-1)/N of a bucket of 64 bytes and of a scalar padded to 8.
    EXPECT_EQ(sent[r], 64u + 8u);
  }
  rt::PlanSummary summary = rt::summarize(*plan);
  EXPECT_EQ(summary.programs.front().sentBytes, 72u);
}

// Over both axes of a mesh and over one of them. The scattered value is used again, so it is copied first.
const char *const twoAxes = R"(
module attributes {cleave.mesh = #cleave.mesh<["a", "b"], [2, 3]>} {
  shard.grid @mesh(shape = 2x3)
  func.func @infer(%x: tensor<24xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["a", "b"]]>})
      -> (tensor<4xf32> {cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["a", "b"]]>}, tensor<24xf32>,
          tensor<8xf32> {cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["a", "b"]]>},
          tensor<24xf32> {cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["a", "b"]]>},
          tensor<8xf32> {cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["a", "b"]]>}) {
    %all = shard.reduce_scatter %x on @mesh grid_axes = [0, 1] scatter_axis = 0 : tensor<24xf32> -> tensor<4xf32>
    %sum = shard.all_gather %all on @mesh grid_axes = [0, 1] gather_axis = 0 : tensor<4xf32> -> tensor<24xf32>
    %cut = shard.all_slice %sum on @mesh grid_axes = [1] slice_axis = 0 : tensor<24xf32> -> tensor<8xf32>
    %row = shard.reduce_scatter %x on @mesh grid_axes = [1] scatter_axis = 0 : tensor<24xf32> -> tensor<8xf32>
    %rows = shard.all_gather %row on @mesh grid_axes = [1] gather_axis = 0 : tensor<8xf32> -> tensor<24xf32>
    %both = shard.all_reduce %row on @mesh grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
    return %all, %sum, %cut, %rows, %both : tensor<4xf32>, tensor<24xf32>, tensor<8xf32>, tensor<24xf32>, tensor<8xf32>
  }
})";

constexpr int kTwoAxesRanks = 6;
using Values = std::vector<float>;

Values valuesOf(int rank) {
  Values x(24);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((i * 5 + 7 * rank) % 11);
  return x;
}

Values sumOver(const std::vector<int> &ranks) {
  Values sum(24, 0);
  for (int rank : ranks)
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += valuesOf(rank)[i];
  return sum;
}

Values part(const Values &whole, size_t index, size_t parts) {
  size_t size = whole.size() / parts;
  return Values(whole.begin() + index * size, whole.begin() + (index + 1) * size);
}

Status runTwoAxes(const rt::fb::Plan &plan, rt::LocalWorld &world, int index, std::vector<Values> *results) {
  rt::Rank rank;
  rt::RankOptions options;
  options.rank = index;
  std::vector<cleave_kernel_fn> kernels(rt::lengthOf(plan.kernels()), nullptr);
  CLEAVE_TRY(rt::Rank::create(plan, kernels.data(), options, world.communicator(index), &rank));
  const rt::fb::Program &infer = *rt::findProgram(plan, "infer");
  Values x = valuesOf(index);
  std::memcpy(rank.portBytes(*infer.inputs()->Get(0), 0).data, x.data(), x.size() * sizeof(float));
  CLEAVE_TRY(rank.run(infer));
  for (const rt::fb::Port *port : *infer.outputs()) {
    rt::Bytes bytes = rank.portBytes(*port, 0);
    results->emplace_back(bytes.size / sizeof(float));
    std::memcpy(results->back().data(), bytes.data, bytes.size);
  }
  return Status::ok();
}

TEST(ExecutePlan, CollectivesOverOneAxisAndOverBoth) {
  std::string bytes = compilePlan(twoAxes);
  ASSERT_FALSE(bytes.empty());
  const rt::fb::Plan *plan = nullptr;
  Status opened = rt::openPlan(bytes.data(), bytes.size(), &plan);
  ASSERT_TRUE(opened.isOk()) << opened.message();
  rt::LocalWorld world(kTwoAxesRanks);
  std::vector<Values> results[kTwoAxesRanks];
  Status statuses[kTwoAxesRanks];
  std::vector<std::thread> threads;
  for (int r = 0; r < kTwoAxesRanks; ++r)
    threads.emplace_back([&, r] { statuses[r] = runTwoAxes(*plan, world, r, &results[r]); });
  for (std::thread &thread : threads)
    thread.join();
  Values all = sumOver({0, 1, 2, 3, 4, 5});
  for (int r = 0; r < kTwoAxesRanks; ++r) {
    ASSERT_TRUE(statuses[r].isOk()) << statuses[r].message();
    ASSERT_EQ(results[r].size(), 5u);
    size_t b = static_cast<size_t>(r) % 3;
    Values row = r < 3 ? sumOver({0, 1, 2}) : sumOver({3, 4, 5});
    EXPECT_EQ(results[r][0], part(all, static_cast<size_t>(r), 6)) << "rank " << r;
    EXPECT_EQ(results[r][1], all) << "rank " << r;
    EXPECT_EQ(results[r][2], part(all, b, 3)) << "rank " << r;
    EXPECT_EQ(results[r][3], row) << "rank " << r;
    EXPECT_EQ(results[r][4], part(all, b, 3)) << "rank " << r;
  }
}

} // namespace
