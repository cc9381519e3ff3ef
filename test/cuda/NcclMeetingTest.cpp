// How processes that were not started by MPI meet through NCCL: when they may change the environment, which attempts of
// NCCL are repeated, and the texts of errors. No GPU and no NCCL is needed, because this test has its own NCCL
// functions.
#include "runtime/device/cuda/NcclMeeting.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

using namespace cleave::rt;

namespace {

constexpr const char *kVariable = "NCCL_COMM_ID", *kAddress = "127.0.0.1:4321";
constexpr int kSystemError = 2, kInvalidUsage = 5, kRemoteError = 6; // ncclResult_t

std::vector<int> results; // the next results of ncclCommInitRank; after them, success
int joins = 0, aborts = 0;

int makeId(cuda::NcclId *id) {
  id->bytes[0] = 'i';
  return 0;
}
int init(cuda::Handle *comm, int size, cuda::NcclId id, int rank) {
  static int made;
  ++joins;
  EXPECT_EQ(size, 3);
  EXPECT_LT(rank, 3);
  EXPECT_EQ(id.bytes[0], 'i');
  int result = results.empty() ? 0 : results.front();
  if (!results.empty())
    results.erase(results.begin());
  *comm = &made; // NCCL returns it also when it fails
  return result;
}
int abortComm(cuda::Handle) {
  ++aborts;
  return 0;
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

class NcclMeetingTest : public testing::Test {
protected:
  NcclMeetingTest() {
    ::unsetenv(kVariable);
    nccl.uniqueId = makeId;
    nccl.init = init;
    nccl.abort = abortComm;
    results.clear();
    joins = aborts = 0;
  }
  ~NcclMeetingTest() override { ::unsetenv(kVariable); }
  std::string variable() const { return std::getenv(kVariable) ? std::getenv(kVariable) : ""; }
  Status join(int rank) {
    return NcclMeeting(point, rank, 3)
        .join(
            nccl, [this] { return isOver; }, [this](const std::string &what) { said.push_back(what); }, &comm);
  }

  const MeetingPoint point{kAddress, "a test"};
  cuda::Nccl nccl;
  cuda::Handle comm = nullptr;
  bool isOver = false;
  std::vector<std::string> said;
};

// Another thread of this process. It only waits.
class OtherThread {
public:
  ~OtherThread() {
    end_.set_value();
    thread_.join();
  }

private:
  std::promise<void> end_;
  std::thread thread_{[end = end_.get_future()] { end.wait(); }};
};

TEST_F(NcclMeetingTest, AProcessOfOneThreadSetsTheVariable) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has a thread of its own";
#endif
  Status status = NcclMeeting(point, 1, 3).open();
  EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(variable(), kAddress);
}

TEST_F(NcclMeetingTest, BesideOtherThreadsItIsNotSet) {
  OtherThread other;
  std::string error = NcclMeeting(point, 1, 3).open().message();
  EXPECT_TRUE(has(error, "NCCL_COMM_ID is not set, and this process has ")) << error;
  EXPECT_TRUE(has(error, "start all processes with NCCL_COMM_ID=127.0.0.1:4321 (a test)")) << error;
  EXPECT_EQ(variable(), "");
}

TEST_F(NcclMeetingTest, WhatIsSetStaysWhoeverElseRuns) {
  OtherThread other;
  ::setenv(kVariable, kAddress, 1);
  EXPECT_TRUE(NcclMeeting(point, 1, 3).open().isOk());
  EXPECT_EQ(variable(), kAddress);
}

TEST_F(NcclMeetingTest, RankZeroMayComeLate) {
  results = {kRemoteError, kRemoteError};
  EXPECT_TRUE(join(1).isOk());
  EXPECT_NE(comm, nullptr);
  EXPECT_EQ(joins, 3);
  EXPECT_EQ(aborts, 2);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_TRUE(has(said[0], "the other ranks at 127.0.0.1:4321 (a test): all 3 processes must be started") &&
              has(said[0], "ncclCommInitRank failed with result 6"))
      << said[0];
}

TEST_F(NcclMeetingTest, OnlySoLongAsItIsNotOver) {
  results = {kRemoteError, kRemoteError};
  isOver = true;
  EXPECT_TRUE(has(join(2).message(), "ncclCommInitRank failed with result 6"));
  EXPECT_EQ(joins, 1);
  EXPECT_EQ(aborts, 1);
  EXPECT_EQ(comm, nullptr);
}

TEST_F(NcclMeetingTest, OtherErrorsAreNotRepeated) {
  results = {kRemoteError};
  std::string error = join(0).message(); // only this process itself listens
  EXPECT_TRUE(has(error, "result 6; ranks meet at 127.0.0.1:4321 (a test), where rank 0 listens")) << error;
  results = {kSystemError};
  error = join(1).message();
  EXPECT_TRUE(has(error, "result 2; ranks meet at") && has(error, "CLEAVE_COMM_PORT gives all processes another one"))
      << error;
  results = {kInvalidUsage};
  error = join(1).message();
  EXPECT_TRUE(has(error, "result 5; most often two processes share a GPU")) << error;
  EXPECT_EQ(joins, 3);
  EXPECT_TRUE(said.empty());
}

} // namespace
