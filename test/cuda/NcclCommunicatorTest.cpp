// The communicator of processes that only NCCL connects, on the emulated device: the conformance suite, how the
// processes meet, and failures. The program starts itself once for each rank. The child plays a role and prints what it
// has seen.
#include "runtime/device/cuda/NcclCommunicator.h"
#include "test/runtime/comm/CommunicatorConformance.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace cleave::rt;

namespace {

constexpr const char *kRole = "CLEAVE_TEST_NCCL_ROLE";

int say(const std::string &text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  return text.empty() || text == "all is well" ? 0 : 1;
}

Status meet(std::unique_ptr<Communicator> *comm) {
  LauncherRank launched;
  MeetingPoint point;
  CLEAVE_TRY(readLauncherRank(&launched));
  CLEAVE_TRY(readMeetingPoint(launched, &point));
  return createNcclCommunicator("cuda:sm_90", launched, point, comm);
}

int conformance(Communicator &comm) {
  for (const auto &check : test::conformanceChecks(comm.size()))
    if (std::string error = check.run(comm); !error.empty())
      return say(check.name + ": " + error);
  return say("all is well");
}

// Messages around a ring. The sizes of the two directions differ: within the first block, around its end, and of
// several pieces.
int sizes(Communicator &comm) {
  int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
  auto bytesOf = [](int rank, int round) {
    constexpr size_t kSizes[] = {0, 1, 4071, 4072, 4073, size_t{4} << 20, (size_t{9} << 20) + 12345};
    return kSizes[static_cast<size_t>(rank * 3 + round) % std::size(kSizes)];
  };
  auto byteAt = [](int rank, size_t i) { return static_cast<char>(i * 31 + i / 4096 + static_cast<size_t>(rank)); };
  for (int round = 0; round < 7; ++round) {
    std::vector<char> mine(bytesOf(comm.rank(), round)), theirs(bytesOf(before, round) + 1, 'x');
    for (size_t i = 0; i < mine.size(); ++i)
      mine[i] = byteAt(comm.rank(), i);
    Exchange step{next, mine.data(), mine.size(), before, theirs.data(), theirs.size() - 1, 3};
    if (Status status = comm.exchange(step); !status.isOk())
      return say(status.message());
    for (size_t i = 0; i + 1 < theirs.size(); ++i)
      if (theirs[i] != byteAt(before, i))
        return say("byte " + std::to_string(i) + " of " + std::to_string(theirs.size() - 1) + " is wrong");
    if (theirs.back() != 'x')
      return say("something was written after the end");
  }
  return say("all is well");
}

int disagree(Communicator &comm, bool byChannel) {
  char bytes[8] = {};
  Status status = comm.rank() == 0 ? comm.send(1, bytes, byChannel ? 8 : 7, byChannel ? kControlChannel : 0)
                                   : comm.receive(0, bytes, 8);
  if (comm.rank() == 0) // the bytes were sent; the error comes with a later call
    status = comm.receive(1, bytes, 8);
  return say(status.message());
}

int leaveEarly(Communicator &comm) {
  char byte = 0;
  return comm.rank() == 0 ? say("all is well") : say(comm.receive(0, &byte, 1).message());
}

int fail(Communicator &comm) {
  char byte = 0;
  if (comm.rank() != 0)
    return say(comm.receive(0, &byte, 1).message());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  comm.abort(internal("out of ideas"));
  return say(comm.health().message());
}

// One thread waits for its peer. A second thread of the same process is refused.
int twoThreads(Communicator &comm) {
  char byte = 0, other = 0;
  std::string refusal;
  if (comm.rank() == 0) {
    std::thread waiting([&] { static_cast<void>(comm.receive(1, &byte, 1)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    refusal = comm.receive(1, &other, 1, kCheckpointChannel).message();
    waiting.join();
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    if (Status status = comm.send(0, &byte, 1); !status.isOk())
      return say(status.message());
  }
  return comm.rank() == 0 ? say(refusal) : say("all is well");
}

int again() {
  for (int session = 0; session < 3; ++session) {
    std::unique_ptr<Communicator> comm, second;
    if (Status status = meet(&comm); !status.isOk())
      return say(status.message());
    if (Status status = meet(&second); status.message().find("one session at a time") == std::string::npos)
      return say("two sessions at a time: " + status.message());
    if (Status status = comm->barrier(); !status.isOk())
      return say(status.message());
  }
  return say("all is well");
}

// The environment belongs to the program, whose other threads may read it at any time.
int besideThreads() {
  std::promise<void> end;
  std::thread other([&] { end.get_future().wait(); });
  std::unique_ptr<Communicator> comm;
  Status status = meet(&comm);
  if (status.isOk())
    status = comm->barrier();
  end.set_value();
  other.join();
  return say(status.isOk() ? "all is well" : status.message());
}

int play(const std::string &role) {
  if (role == "beside")
    return besideThreads();
  if (role == "late" && std::strcmp(std::getenv("RANK"), "0") == 0)
    std::this_thread::sleep_for(std::chrono::seconds(3));
  if (role == "again")
    return again();
  if (role == "absent" && std::strcmp(std::getenv("RANK"), "1") == 0)
    return 0;
  std::unique_ptr<Communicator> comm;
  if (Status status = meet(&comm); !status.isOk())
    return say(status.message());
  if (role == "conformance" || role == "late")
    return conformance(*comm);
  if (role == "sizes")
    return sizes(*comm);
  if (role == "bytes" || role == "channel")
    return disagree(*comm, role == "channel");
  if (role == "early")
    return leaveEarly(*comm);
  if (role == "fail")
    return fail(*comm);
  if (role == "threads")
    return twoThreads(*comm);
  say("ready"); // the test now kills this process
  Status status = comm->barrier();
  for (int i = 0; status.isOk() && i < 100000; ++i)
    status = comm->barrier();
  return say(status.message());
}

// Finds a port for which the next port is free, too.
int freePort() {
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ::bind(fd, reinterpret_cast<sockaddr *>(&at), sizeof at);
  ::getsockname(fd, reinterpret_cast<sockaddr *>(&at), &size);
  ::close(fd);
  return ntohs(at.sin_port) - 1;
}

struct Process {
  pid_t id = 0;
  int output = -1;

  std::string line() {
    std::string text;
    for (char c = 0; ::read(output, &c, 1) == 1 && c != '\n';)
      text += c;
    return text;
  }
  int wait() {
    int status = 0;
    ::waitpid(id, &status, 0);
    ::close(output);
    return status;
  }
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// `more` has variables for all ranks. "PORT" in a value becomes the port at which they meet. `only` is the rank that is
// started, or -1 for all.
std::vector<Process> start(const std::string &role, int ranks, int limitSeconds = 20, const Variables &more = {},
                           int only = -1) {
  int port = freePort();
  std::vector<Process> processes;
  for (int rank = std::max(only, 0); rank < (only < 0 ? ranks : only + 1); ++rank) {
    int pipes[2];
    EXPECT_EQ(::pipe2(pipes, O_CLOEXEC), 0);
    Process process;
    process.output = pipes[0];
    process.id = ::fork();
    if (process.id == 0) {
      ::dup2(pipes[1], 1);
      std::string devices = std::to_string(ranks);
      for (auto [name, value] :
           std::vector<std::pair<const char *, std::string>>{{kRole, role},
                                                             {"RANK", std::to_string(rank)},
                                                             {"LOCAL_RANK", std::to_string(rank)},
                                                             {"WORLD_SIZE", std::to_string(ranks)},
                                                             {"MASTER_ADDR", "127.0.0.1"},
                                                             {"MASTER_PORT", std::to_string(port)},
                                                             {"CLEAVE_COMM_TIMEOUT_S", std::to_string(limitSeconds)},
                                                             {"CLEAVE_LIBCUDA", CLEAVE_EMULATED_LIBRARY},
                                                             {"CLEAVE_LIBNCCL", CLEAVE_EMULATED_NCCL},
                                                             {"CLEAVE_EMULATED_DEVICES", devices}})
        ::setenv(name, value.c_str(), 1);
      for (auto [name, value] : more) {
        if (size_t at = value.find("PORT"); at != std::string::npos)
          value.replace(at, 4, std::to_string(port + 1));
        ::setenv(name.c_str(), value.c_str(), 1);
      }
      ::execl("/proc/self/exe", "NcclCommunicatorTest", nullptr);
      ::_exit(127);
    }
    ::close(pipes[1]);
    processes.push_back(process);
  }
  return processes;
}

// Returns the line that each rank prints.
std::vector<std::string> run(const std::string &role, int ranks, int limitSeconds = 20, const Variables &more = {},
                             int only = -1) {
  std::vector<Process> processes = start(role, ranks, limitSeconds, more, only);
  std::vector<std::string> said;
  for (Process &process : processes)
    said.push_back(process.line());
  for (Process &process : processes)
    process.wait();
  return said;
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

} // namespace

class NcclRanks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, NcclRanks, ::testing::Values(2, 3, 4));

TEST_P(NcclRanks, Conform) {
  for (const std::string &said : run("conformance", GetParam()))
    EXPECT_EQ(said, "all is well");
}

TEST_P(NcclRanks, ExchangeBytesOfAllSizes) {
  for (const std::string &said : run("sizes", GetParam()))
    EXPECT_EQ(said, "all is well");
}

TEST_P(NcclRanks, HaveOneSessionAfterTheOther) {
  for (const std::string &said : run("again", GetParam()))
    EXPECT_EQ(said, "all is well");
}

TEST_P(NcclRanks, NameTheOneThatIsKilled) {
  for (int victim = 0; victim < GetParam(); ++victim) {
    std::vector<Process> processes = start("barriers", GetParam());
    for (Process &process : processes)
      EXPECT_EQ(process.line(), "ready");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(processes[static_cast<size_t>(victim)].id,
           SIGKILL); // nobody asks for its end before the others have seen it
    for (int rank = 0; rank < GetParam(); ++rank)
      if (Process &process = processes[static_cast<size_t>(rank)]; rank != victim) {
        std::string said = process.line();
        EXPECT_TRUE(has(said, "rank " + std::to_string(victim) + " (process ") && has(said, "has died")) << said;
        process.wait();
      }
    processes[static_cast<size_t>(victim)].wait();
  }
}

TEST(NcclCommunicator, DisagreementIsToldByTheOneThatSees) {
  EXPECT_TRUE(has(run("bytes", 2)[1],
                  "expected 8 bytes from rank 0 on channel 0; got: 7 on channel 0; the ranks' plans disagree"));
  EXPECT_TRUE(has(run("channel", 2)[1], "got: 8 on channel 17; the ranks' plans disagree"));
}

TEST(NcclCommunicator, AFailureEndsTheOthers) {
  std::vector<std::string> said = run("fail", 3);
  EXPECT_TRUE(has(said[0], "this rank has failed")) << said[0];
  for (int rank : {1, 2})
    EXPECT_TRUE(has(said[static_cast<size_t>(rank)], "rank 0") ||
                has(said[static_cast<size_t>(rank)], "another rank is lost"))
        << said[static_cast<size_t>(rank)];
}

TEST(NcclCommunicator, OneThatHasLeftIsMissed) {
  std::vector<std::string> said = run("early", 2);
  EXPECT_TRUE(has(said[1], "rank 0 has ended its session, and others wait for it")) << said[1];
}

TEST(NcclCommunicator, ASecondThreadIsRefused) {
  std::vector<std::string> said = run("threads", 2);
  EXPECT_TRUE(has(said[0], "two threads of this process exchange bytes at the same time")) << said[0];
  EXPECT_EQ(said[1], "all is well");
}

TEST(NcclCommunicator, WaitsForNobodyForEver) {
  std::string said = run("absent", 2, 1)[0];
  EXPECT_TRUE(has(said, "rank 0 waited 1 s for the other ranks at 127.0.0.1:")) << said;
  EXPECT_TRUE(has(said, "CLEAVE_COMM_TIMEOUT_S sets the limit")) << said;
}

// The ranks meet by the variables of torchrun, and by a NCCL_COMM_ID of the user. NCCL gives up before rank 0 comes.
const Variables kShortTries = {{"CLEAVE_EMULATED_NCCL_ROOT_LIMIT_S", "1"}};
const Variables kOwnId = {{"NCCL_COMM_ID", "127.0.0.1:PORT"}, {"CLEAVE_EMULATED_NCCL_ROOT_LIMIT_S", "1"}};

TEST(NcclCommunicator, RankZeroMayComeLate) {
  for (const Variables &more : {kShortTries, kOwnId})
    for (const std::string &said : run("late", 3, 20, more))
      EXPECT_EQ(said, "all is well");
}

TEST(NcclCommunicator, RankZeroThatNeverComesIsNamed) {
  std::string said = run("conformance", 3, 2, {}, /*only=*/2)[0];
  EXPECT_TRUE(has(said, "rank 2 waited 2 s for the other ranks at 127.0.0.1:")) << said;
  EXPECT_TRUE(has(said, "(MASTER_ADDR and the port after MASTER_PORT): all 3 processes must be started, and have the "
                        "same address; CLEAVE_COMM_TIMEOUT_S sets the limit"))
      << said; // NCCL has not given up yet
  said = run("conformance", 3, 3, kOwnId, /*only=*/2)[0];
  EXPECT_TRUE(has(said, "rank 2 waited 3 s for the other ranks at 127.0.0.1:") && has(said, "(NCCL_COMM_ID)") &&
              has(said, "connect: Connection refused"))
      << said;
}

TEST(NcclCommunicator, TheEnvironmentIsNotChangedBesideThreads) {
  for (const std::string &said : run("beside", 2, 5))
    EXPECT_TRUE(has(said, "NCCL_COMM_ID is not set, and this process has 2 threads") &&
                has(said, "start all processes with NCCL_COMM_ID=127.0.0.1:"))
        << said;
  for (const std::string &said : run("beside", 2, 20, kOwnId))
    EXPECT_EQ(said, "all is well");
}

int main(int argc, char **argv) {
  if (const char *role = std::getenv(kRole))
    return play(role);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
