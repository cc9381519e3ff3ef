#include "runtime/comm/Group.h"
#include "runtime/comm/LocalWorld.h"
#include "runtime/plan/Mesh.h"
#include "test/runtime/comm/CommunicatorConformance.h"

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace cleave::rt;
using namespace cleave::rt::test;

namespace {

// Runs the body on every rank, and returns the results.
template <typename Body> auto onAllRanks(LocalWorld &world, Body body) {
  std::vector<decltype(body(world.communicator(0)))> results(static_cast<size_t>(world.size()));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world.size(); ++rank)
    threads.emplace_back([&, rank] { results[static_cast<size_t>(rank)] = body(world.communicator(rank)); });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

class Local : public testing::TestWithParam<int> {};

TEST_P(Local, Conforms) {
  for (const ConformanceCheck &check : conformanceChecks(GetParam())) {
    LocalWorld world(GetParam());
    for (const std::string &error : onAllRanks(world, check.run))
      EXPECT_EQ(error, "") << check.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Local, testing::Values(1, 2, 3, 4, 6));

TEST(Group, FollowsTheFormula) {
  std::vector<uint32_t> mesh = {2, 3};
  EXPECT_EQ(meshCoordinates(mesh, 4), (std::vector<unsigned>{1, 1}));
  EXPECT_EQ(meshGroup(mesh, {1}, 4).members, (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(meshGroup(mesh, {1}, 4).index, 1);
  EXPECT_EQ(meshGroup(mesh, {0}, 4).members, (std::vector<int>{1, 4}));
  EXPECT_EQ(meshGroup(mesh, {0, 1}, 4).members, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(meshGroup(mesh, {1, 0}, 4).members, (std::vector<int>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(meshGroup(mesh, {}, 4).members, (std::vector<int>{4}));
}

TEST(LocalFailure, ReachesEveryRankQuickly) {
  LocalWorld world(3);
  auto begin = std::chrono::steady_clock::now();
  auto results = onAllRanks(world, [](Communicator &comm) {
    if (comm.rank() == 1) {
      comm.abort(invalidArgument("index 300 is out of range"));
      return comm.barrier();
    }
    return comm.barrier();
  });
  for (const Status &status : results) {
    EXPECT_EQ(status.code(), Code::PeerLost);
    EXPECT_NE(status.message().find("rank 1 failed: index 300 is out of range"), std::string::npos) << status.message();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(LocalFailure, SilentPeerIsAnErrorInTime) {
  ::setenv("CLEAVE_COMM_TIMEOUT_S", "0.3", 1);
  LocalWorld world(2);
  ::unsetenv("CLEAVE_COMM_TIMEOUT_S");
  double value = 0;
  Status status = world.communicator(0).receive(1, &value, sizeof(value));
  EXPECT_EQ(status.code(), Code::PeerLost);
  EXPECT_NE(status.message().find("for rank 1 to send"), std::string::npos) << status.message();
}

// The time for which a process is stopped (a shell's Ctrl-Z and fg) does not count as waiting.
static int receiveLate() {
  ::setenv("CLEAVE_COMM_TIMEOUT_S", "2.5", 1);
  LocalWorld world(2);
  auto results = onAllRanks(world, [](Communicator &comm) {
    char byte = 0;
    if (comm.rank() == 0)
      return comm.receive(1, &byte, 1);
    for (int i = 0; i < 20; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return comm.send(0, &byte, 1);
  });
  return results[0].isOk() ? 0 : 1;
}

TEST(LocalFailure, AStoppedProcessDoesNotWait) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    ::_exit(receiveLate());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(child, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  ::kill(child, SIGCONT);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LocalFailure, DifferentSizesAreAnError) {
  LocalWorld world(2);
  auto results = onAllRanks(world, [](Communicator &comm) {
    char bytes[8] = {};
    Status status = comm.rank() == 0 ? comm.send(1, bytes, 8) : comm.receive(0, bytes, 4);
    if (!status.isOk())
      comm.abort(status);
    return status;
  });
  EXPECT_NE(results[1].message().find("expects 4 bytes from rank 0; got: 8"), std::string::npos);
  EXPECT_FALSE(results[0].isOk());
}

TEST(LocalDelay, StretchesAnExchange) {
  ::setenv("CLEAVE_COMM_DELAY_US", "20000", 1);
  LocalWorld world(2);
  ::unsetenv("CLEAVE_COMM_DELAY_US");
  auto begin = std::chrono::steady_clock::now();
  for (const Status &status : onAllRanks(world, [](Communicator &comm) { return comm.barrier(); }))
    EXPECT_TRUE(status.isOk());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
}

} // namespace
