#include "compiler/Calibration/Probes.h"
#include "compiler/Calibration/Stopwatch.h"
#include "runtime/base/Clock.h"
#include "runtime/comm/LocalWorld.h"
#include "runtime/comm/Ring.h"

#include <algorithm>
#include <limits>
#include <thread>

namespace cleave::calibration {

using namespace rt;

namespace {

// Measures an all-reduce of `count` numbers. Returns the shortest of `times` times, in seconds.
Status timeAllReduce(LocalWorld &world, size_t count, int times, double *least) {
  *least = std::numeric_limits<double>::infinity();
  std::vector<Status> statuses(2);
  auto run = [&](int rank) {
    Communicator &comm = world.communicator(rank);
    std::vector<float> data(count, 1.0f), staging(count / 2);
    Group group{{0, 1}, rank};
    RingData ring{reinterpret_cast<std::byte *>(data.data()), reinterpret_cast<std::byte *>(staging.data()), count,
                  fb::DType::f32, Reduction::Sum};
    for (int i = 0; i < times; ++i) {
      std::fill(data.begin(), data.end(), 1.0f);
      CLEAVE_TRY(comm.barrier());
      double begin = secondsNow();
      CLEAVE_TRY(ringAllReduce(comm, group, 0, ring));
      if (rank == 0 && i > 0)
        *least = std::min(*least, secondsNow() - begin);
    }
    return Status::ok();
  };
  std::thread other([&] {
    statuses[1] = run(1);
    if (!statuses[1].isOk())
      world.communicator(1).abort(statuses[1]);
  });
  statuses[0] = run(0);
  if (!statuses[0].isOk())
    world.communicator(0).abort(statuses[0]);
  other.join();
  return !statuses[0].isOk() ? statuses[0] : statuses[1];
}

} // namespace

// Inverts the formula of the cost model: on two ranks, an all-reduce of B bytes takes 2 a + B / b.
Status measureLink(Link *link) {
  constexpr size_t kLarge = 1 << 20; // numbers
  LocalWorld world(2);
  double small = 0, large = 0;
  CLEAVE_TRY(timeAllReduce(world, 2, 200, &small));
  CLEAVE_TRY(timeAllReduce(world, kLarge, 20, &large));
  link->seconds = small / 2;
  link->bytesPerSecond = kLarge * sizeof(float) / std::max(large - small, 1e-9);
  return Status::ok();
}

} // namespace cleave::calibration
