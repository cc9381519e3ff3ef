// How processes get to know NCCL's id: in any order, whoever else comes to the port, and who must be refused. No GPU
// and no NCCL is needed; ranks are threads.
#include "runtime/device/cuda/NcclMeeting.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace cleave::rt;

namespace {

void pause(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

class NcclMeetingTest : public testing::Test {
protected:
  NcclMeetingTest() {
    int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    ::bind(fd, reinterpret_cast<sockaddr *>(&at), size);
    ::getsockname(fd, reinterpret_cast<sockaddr *>(&at), &size);
    ::close(fd);
    point.address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    point.source = "a test";
    std::memset(id.bytes, 'i', sizeof id.bytes);
  }
  Status tell(int size) { return meeting(0, size).tell(id); }
  // The id is right, or the error.
  Status ask(int rank, int size) {
    cuda::NcclId found = {};
    CLEAVE_TRY(meeting(rank, size).ask(&found));
    return std::memcmp(&found, &id, sizeof id) == 0 ? Status::ok() : internal("it has no id");
  }
  // A program that is no rank: says something and hangs up.
  void disturb(const std::string &says) const {
    int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr *>(&at), sizeof at), 0);
    EXPECT_EQ(::send(fd, says.data(), says.size(), MSG_NOSIGNAL), static_cast<ssize_t>(says.size()));
    ::close(fd);
  }
  std::string lastWord() {
    std::lock_guard<std::mutex> lock(mutex);
    return word;
  }

  MeetingPoint point;
  sockaddr_in at = {};
  cuda::NcclId id = {};
  std::atomic<bool> isOver{false};

private:
  NcclMeeting meeting(int rank, int size) {
    return {point, rank, size, [this] { return isOver.load(); },
            [this](const std::string &what) {
              std::lock_guard<std::mutex> lock(mutex);
              word = what;
            }};
  }
  std::mutex mutex;
  std::string word; // what a rank has said last that it waits for
};

TEST_F(NcclMeetingTest, RanksComeInAnyOrder) {
  constexpr int kRanks = 9;
  for (int first : {0, 4, 8}) { // the others are later
    std::vector<Status> statuses(kRanks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        pause(rank == first ? 0 : 50 * rank);
        statuses[static_cast<size_t>(rank)] = rank == 0 ? tell(kRanks) : ask(rank, kRanks);
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const Status &status : statuses)
      EXPECT_TRUE(status.isOk()) << status.message();
  }
}

TEST_F(NcclMeetingTest, OthersThanRanksAreNotCounted) {
  std::thread root([&] { EXPECT_TRUE(tell(2).isOk()); });
  pause(200);
  disturb("");
  disturb("GET / HTTP/1.1\r\n\r\n");
  // A rank that asks, and dies before it has the answer, may come again.
  struct {
    uint64_t magic = 0x64692d6c'63636e31;
    int32_t rank = 1, size = 2;
  } question;
  disturb({reinterpret_cast<const char *>(&question), sizeof question});
  EXPECT_TRUE(has(lastWord(), "rank 1 has not come yet")) << lastWord();
  EXPECT_TRUE(ask(1, 2).isOk());
  root.join();
}

TEST_F(NcclMeetingTest, AnotherNumberOfProcessesIsRefused) {
  Status told;
  std::thread root([&] { told = tell(2); });
  std::string asked = ask(3, 4).message();
  root.join();
  EXPECT_TRUE(has(asked, "rank 0 at " + point.address +
                             " (a test) was started as one of 2 processes, and this one as rank 3 of 4"))
      << asked;
  EXPECT_TRUE(has(told.message(), "rank 3 of 4 processes has come to " + point.address)) << told.message();
}

TEST_F(NcclMeetingTest, ARankThatIsThereTwiceIsRefused) {
  std::thread root([&] { EXPECT_TRUE(tell(3).isOk()); });
  EXPECT_TRUE(ask(1, 3).isOk());
  pause(300); // rank 0 has heard that
  std::string twice = ask(1, 3).message();
  EXPECT_TRUE(has(twice, "another process has come to rank 0 at " + point.address + " (a test) as rank 1")) << twice;
  EXPECT_TRUE(ask(2, 3).isOk());
  root.join();
}

TEST_F(NcclMeetingTest, BothSidesEndWhenItIsOver) {
  for (int rank : {0, 1}) {
    isOver = false;
    auto begin = std::chrono::steady_clock::now();
    std::thread waiting([&] { static_cast<void>(rank == 0 ? tell(7) : ask(1, 7)); });
    pause(400);
    std::string said = lastWord();
    EXPECT_TRUE(has(said, rank == 0 ? "ranks 1, 2, 3, 4, ... have not come yet"
                                    : "rank 0 does not listen there yet (Connection refused)"))
        << said;
    isOver = true;
    waiting.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  }
}

TEST_F(NcclMeetingTest, APortOfAnotherProgram) {
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr *>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(fd, 8), 0);
  std::string told = tell(2).message();
  EXPECT_TRUE(
      has(told, "rank 0 cannot listen at " + point.address + " (a test), where the ranks meet: Address already in use"))
      << told;
  std::thread asking([&] { static_cast<void>(ask(1, 2)); });
  pause(1500);
  EXPECT_TRUE(has(lastWord(), "a program listens there that does not answer as rank 0 does")) << lastWord();
  isOver = true;
  asking.join();
  ::close(fd);
  point.address = "192.0.2.1:4000"; // of no machine
  told = tell(2).message();
  EXPECT_TRUE(has(told, "Cannot assign requested address")) << told;
}

} // namespace
