// Tests the OpenMP of emitted executables (runtime/main/Team.cpp): every thread number is called once, and barriers
// work, with any number of teams and threads on the cores.
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_barrier();
int omp_get_thread_num();
int omp_get_num_threads();
int omp_in_parallel();
int omp_get_max_threads();
void omp_set_num_threads(int count);
}

namespace {

struct Region {
  std::vector<std::atomic<unsigned>> calls = std::vector<std::atomic<unsigned>>(64);
  std::atomic<int> wrong{0}, arrived{0};
  unsigned count = 0;
};

void countCalls(void *data) {
  auto &region = *static_cast<Region *>(data);
  ++region.calls[static_cast<size_t>(omp_get_thread_num())];
  region.wrong += omp_get_num_threads() != static_cast<int>(region.count) || !omp_in_parallel();
}

TEST(Team, EachNumberIsCalledOnce) {
  for (unsigned round = 0; round < 20000; ++round) {
    Region region;
    region.count = 2 + round % 7;
    GOMP_parallel(countCalls, &region, region.count, 0);
    for (unsigned i = 0; i < region.calls.size(); ++i)
      ASSERT_EQ(region.calls[i], i < region.count ? 1u : 0u) << round;
    ASSERT_EQ(region.wrong, 0);
  }
  EXPECT_EQ(omp_get_num_threads(), 1);
  EXPECT_EQ(omp_in_parallel(), 0);
}

// There are more threads than cores, so most threads of a barrier wait for a thread that has no core.
TEST(Team, BarriersHold) {
  for (unsigned round = 0; round < 300; ++round) {
    Region region;
    region.count = 8;
    GOMP_parallel(
        [](void *data) {
          auto &shared = *static_cast<Region *>(data);
          for (int phase = 1; phase <= 5; ++phase) {
            ++shared.arrived;
            GOMP_barrier();
            shared.wrong += shared.arrived != 8 * phase;
            GOMP_barrier();
          }
        },
        &region, region.count, 0);
    ASSERT_EQ(region.wrong, 0);
  }
}

TEST(Team, RanksHaveTeamsOfTheirOwn) {
  std::vector<std::thread> ranks;
  std::atomic<unsigned> calls{0};
  for (unsigned rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&] {
      omp_set_num_threads(3);
      EXPECT_EQ(omp_get_max_threads(), 3);
      for (unsigned round = 0; round < 3000; ++round)
        GOMP_parallel([](void *data) { ++*static_cast<std::atomic<unsigned> *>(data); }, &calls, 0, 0);
    });
  for (std::thread &rank : ranks)
    rank.join();
  EXPECT_EQ(calls, 4u * 3000 * 3);
}

TEST(Team, InnerRegionsHaveOneThread) {
  Region region;
  region.count = 3;
  GOMP_parallel(
      [](void *data) {
        int outside = omp_get_thread_num();
        GOMP_parallel(
            [](void *inner) {
              static_cast<Region *>(inner)->wrong += omp_get_num_threads() != 1 || omp_get_thread_num() != 0;
              ++static_cast<Region *>(inner)->arrived;
            },
            data, 4, 0);
        static_cast<Region *>(data)->wrong += omp_get_thread_num() != outside || omp_get_num_threads() != 3;
      },
      &region, region.count, 0);
  EXPECT_EQ(region.arrived, 3);
  EXPECT_EQ(region.wrong, 0);
}

// Between regions no thread spins for long.
TEST(Team, ThreadsSleepWhileThereIsNothing) {
  GOMP_parallel([](void *) {}, nullptr, 4, 0);
  auto processorTime = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  double before = processorTime();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processorTime() - before, 0.1); // three threads that spin would use all cores
}

} // namespace
