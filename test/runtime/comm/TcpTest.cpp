// The conformance suite on processes that meet by TCP, and what goes wrong there: strangers at the port, processes that
// cannot belong together, and processes that are lost. This program starts itself as the ranks, with a role.
#include "runtime/comm/TcpCommunicator.h"
#include "runtime/comm/TcpWire.h"
#include "test/runtime/comm/CommunicatorConformance.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace cleave::rt;

namespace {

constexpr const char *kRole = "CLEAVE_TCP_TEST_ROLE";

using Environment = std::vector<std::pair<std::string, std::string>>;

// A port that nobody listens at, and of which nobody else is told.
uint16_t freePort() {
  Socket socket;
  EXPECT_TRUE(listenAt(listeningAddress("127.0.0.1", 0), &socket).isOk());
  return localAddress(socket).port;
}

struct Ended {
  int code = -1; // negative: by that signal
  std::string text;
};

class Process {
public:
  Process(const std::string &role, const Environment &environment) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    output_ = ends[0];
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], 1);
      ::dup2(ends[1], 2);
      ::setenv(kRole, role.c_str(), 1);
      for (const auto &[name, value] : environment)
        ::setenv(name.c_str(), value.c_str(), 1);
      ::execl("/proc/self/exe", "TcpTest", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
  }

  Ended wait() {
    Ended ended;
    char buffer[4096];
    for (ssize_t got; (got = ::read(output_, buffer, sizeof buffer)) > 0;)
      ended.text.append(buffer, static_cast<size_t>(got));
    ::close(output_);
    int status = 0;
    ::waitpid(process_, &status, 0);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return ended;
  }

  pid_t id() const { return process_; }

private:
  pid_t process_ = -1;
  int output_ = -1;
};

Environment placeOf(int rank, int size, uint16_t port) {
  return {{"RANK", std::to_string(rank)},      {"WORLD_SIZE", std::to_string(size)},
          {"MASTER_ADDR", "127.0.0.1"},        {"MASTER_PORT", std::to_string(port)},
          {"CLEAVE_COMM_TIMEOUT_S", "20"}, {"CLEAVE_COMM", "tcp"}};
}

std::vector<Ended> runAll(const std::string &role, int size, const Environment &more = {}, uint16_t port = 0) {
  std::vector<std::unique_ptr<Process>> processes;
  port = port ? port : freePort();
  for (int rank = 0; rank < size; ++rank) {
    Environment environment = placeOf(rank, size, port);
    environment.insert(environment.end(), more.begin(), more.end());
    processes.push_back(std::make_unique<Process>(role, environment));
  }
  std::vector<Ended> all;
  for (auto &process : processes)
    all.push_back(process->wait());
  return all;
}

void expectAll(const std::vector<Ended> &all, const std::string &words) {
  for (const Ended &ended : all) {
    EXPECT_EQ(ended.code, 0) << ended.text;
    EXPECT_NE(ended.text.find(words), std::string::npos) << ended.text;
  }
}

// Roles: they return what the process exits with.

Status joinWorld(std::unique_ptr<Communicator> *comm) {
  TcpPlace place;
  CLEAVE_TRY(readTcpPlace(&place));
  return createTcpCommunicator(place, comm);
}

int conform(Communicator &comm) {
  int failures = 0;
  for (const auto &check : test::conformanceChecks(comm.size()))
    if (std::string error = check.run(comm); !error.empty()) {
      std::printf("rank %d: %s: %s\n", comm.rank(), check.name.c_str(), error.c_str());
      ++failures;
    }
  std::printf("conforms over %s\n", comm.transport());
  return failures == 0 ? 0 : 1;
}

// Barriers until one fails, which must be a loss of rank 1, within five seconds.
int survive(Communicator &comm) {
  auto begin = std::chrono::steady_clock::now();
  for (;;) {
    Status status = comm.barrier();
    if (status.isOk())
      continue;
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%s\n", status.message().c_str());
    bool named = putLossFirst(status.message()).compare(0, 6, "rank 1") == 0;
    return status.code() == Code::PeerLost && named && seconds < 5 ? 0 : 1;
  }
}

int play(const std::string &role) {
  std::unique_ptr<Communicator> comm;
  if (Status status = joinWorld(&comm); !status.isOk()) {
    std::printf("%s\n", status.message().c_str());
    return 3;
  }
  if (role == "conformance")
    return conform(*comm);
  if (role == "again") { // sessions one after the other, which processes leave at different times
    for (int round = 0; round < 5; ++round) {
      int value = round;
      if (!comm->broadcast(&value, sizeof value, 0).isOk())
        return 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * comm->rank()));
      comm.reset();
      if (Status status = joinWorld(&comm); !status.isOk()) {
        std::printf("%s\n", status.message().c_str());
        return 1;
      }
    }
    std::unique_ptr<Communicator> second;
    if (joinWorld(&second).isOk())
      return 1;
    std::printf("met again\n");
    return 0;
  }
  if (role == "loss" || role == "error" || role == "stop" || role == "leave") {
    if (comm->rank() != 1)
      return survive(*comm);
    for (int i = 0; i < 10; ++i)
      if (!comm->barrier().isOk())
        return 1;
    if (role == "loss")
      ::kill(::getpid(), SIGKILL);
    if (role == "stop")
      ::kill(::getpid(), SIGSTOP);
    if (role == "error")
      comm->abort(internal("a planted error"));
    return 0;
  }
  if (role == "sizes") { // what is sent is not what is expected
    char buffer[8] = {};
    Status status = comm->rank() == 0 ? comm->send(1, buffer, 8) : comm->receive(0, buffer, 4);
    std::printf("%s\n", status.message().c_str());
    return comm->rank() == 0 || status.message().find("expected 4 bytes from rank 0; got: 8") != std::string::npos ? 0
                                                                                                                    : 1;
  }
  if (role == "few descriptors") {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 20;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    Status status;
    for (unsigned channel = 0; channel < kAllChannels && status.isOk(); ++channel) {
      uint32_t largest = 0;
      status = comm->maximum(1, &largest, channel);
    }
    std::printf("%s\n", status.message().c_str());
    if (status.code() == Code::IoError)
      comm->abort(status);
    return status.code() == Code::IoError || status.code() == Code::PeerLost ? 0 : 1;
  }
  if (role == "silence") { // a rank that lives, and takes no part
    if (comm->rank() == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(4));
      return 0;
    }
    char byte = 0;
    Status status = comm->receive(1, &byte, 1);
    std::printf("%s\n", status.message().c_str());
    return status.code() == Code::PeerLost ? 0 : 1;
  }
  return 2;
}

// Bytes of somebody who is none of the run: noise, half a hello, hellos with wrong tokens, ranks and channels.
void pester(uint16_t port, unsigned seed) {
  std::mt19937 random(seed);
  NetAddress address = listeningAddress("127.0.0.1", port);
  std::vector<Socket> kept;
  for (int i = 0; i < 60; ++i) {
    Socket socket;
    if (!connectTo(address, 1, &socket).isOk())
      continue;
    Hello hello;
    hello.kind = i % 2 ? HelloKind::Open : static_cast<HelloKind>(random());
    hello.key = random();
    hello.rank = static_cast<int32_t>(random());
    hello.number = random();
    if (i % 5 == 1)
      hello.rank = 1;
    if (i % 7 == 2)
      hello.kind = HelloKind::Join; // of another run
    std::vector<char> bytes(sizeof hello + random() % 5000);
    std::memcpy(bytes.data(), &hello, sizeof hello);
    for (size_t b = i % 3 ? sizeof hello : 0; b < bytes.size(); ++b)
      bytes[b] = static_cast<char>(random());
    sendAll(socket, bytes.data(), i % 4 ? bytes.size() : random() % sizeof hello, 1);
    if (i % 6 == 0)
      kept.push_back(std::move(socket)); // and says nothing more
  }
}

} // namespace

TEST(Tcp, Conforms) {
  for (int size : {2, 4})
    expectAll(runAll("conformance", size), "conforms over tcp");
}

TEST(Tcp, MeetsAgainAndHasOneSessionAtATime) { expectAll(runAll("again", 3), "met again"); }

TEST(Tcp, StrangersAtThePortDoNoHarm) {
  uint16_t port = freePort();
  std::atomic<bool> over{false};
  std::thread stranger([&] {
    for (unsigned seed = 1; !over; ++seed) {
      pester(port, seed);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::vector<Ended> all = runAll("conformance", 4, {{"CLEAVE_LOG", "error"}}, port);
  over = true;
  stranger.join();
  expectAll(all, "conforms over tcp");
}

TEST(Tcp, ALostRankIsNamed) {
  for (const char *role : {"loss", "error", "leave"}) {
    std::vector<Ended> all = runAll(role, 4);
    all.erase(all.begin() + 1);
    expectAll(all, "rank 1");
  }
}

TEST(Tcp, AStoppedRankIsNamed) {
  std::vector<std::unique_ptr<Process>> processes;
  uint16_t port = freePort();
  for (int rank = 0; rank < 3; ++rank) {
    Environment environment = placeOf(rank, 3, port);
    environment.push_back({"CLEAVE_COMM_HEARTBEAT_S", "2"});
    processes.push_back(std::make_unique<Process>("stop", environment));
  }
  std::vector<Ended> all{processes[0]->wait(), processes[2]->wait()};
  ::kill(processes[1]->id(), SIGKILL);
  processes[1]->wait();
  expectAll(all, "rank 1");
}

TEST(Tcp, ARankThatTakesNoPartIsWaitedForInVain) {
  std::vector<Ended> all = runAll("silence", 2, {{"CLEAVE_COMM_TIMEOUT_S", "1"}});
  EXPECT_EQ(all[0].code, 0) << all[0].text;
  EXPECT_NE(all[0].text.find("waited 1 s for rank 1; CLEAVE_COMM_TIMEOUT_S"), std::string::npos) << all[0].text;
}

TEST(Tcp, MessagesOfOtherSizesAreRefused) {
  std::vector<Ended> all = runAll("sizes", 2);
  EXPECT_EQ(all[1].code, 0) << all[1].text;
}

// What cannot belong together is told to both sides.
TEST(Tcp, ProcessesThatDisagree) {
  struct Case {
    Environment first, second;
    const char *firstSays, *secondSays;
  };
  uint16_t port = freePort();
  Environment other = placeOf(1, 2, port);
  other.push_back({"TORCHELASTIC_RUN_ID", "another"});
  std::vector<Case> cases = {
      {placeOf(0, 2, port), placeOf(1, 4, port), "rank 1 (at 127.0.0.1) was started as one of 4 processes",
       "was started as one of 2 processes, this one says RANK=1, WORLD_SIZE=4"},
      {placeOf(0, 2, port), placeOf(0, 2, port), "conforms", "cannot listen at port"},
      {placeOf(0, 2, port), other, "conforms", "belongs to another run; give each run a MASTER_PORT of its own"}};
  for (const Case &each : cases) {
    Process first("conformance", each.first);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Process second("conformance", each.second);
    Ended seconds = second.wait();
    EXPECT_EQ(seconds.code, 3);
    EXPECT_NE(seconds.text.find(each.secondSays), std::string::npos) << seconds.text;
    if (std::strcmp(each.firstSays, "conforms") == 0) { // the other one harms nobody
      Process right("conformance", placeOf(1, 2, port));
      EXPECT_EQ(right.wait().code, 0);
    }
    Ended firsts = first.wait();
    EXPECT_NE(firsts.text.find(each.firstSays), std::string::npos) << firsts.text;
  }
}

TEST(Tcp, ARankTwiceEndsTheMeeting) {
  uint16_t port = freePort();
  Process root("conformance", placeOf(0, 3, port));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  Process first("conformance", placeOf(1, 3, port));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  Ended second = Process("conformance", placeOf(1, 3, port)).wait();
  EXPECT_NE(second.text.find("another process says that it is rank 1, too"), std::string::npos) << second.text;
  EXPECT_NE(first.wait().text.find("rank 0 has given up: two processes say that they are rank 1"), std::string::npos);
  EXPECT_NE(root.wait().text.find("two processes say that they are rank 1"), std::string::npos);
}

TEST(Tcp, NobodyIsWaitedForWithoutALimit) {
  for (int rank : {0, 1}) {
    Environment environment = placeOf(rank, 3, freePort());
    environment.push_back({"CLEAVE_COMM_TIMEOUT_S", "1"});
    Ended ended = Process("conformance", environment).wait();
    EXPECT_EQ(ended.code, 3);
    EXPECT_NE(ended.text.find(rank == 0 ? "waited 1 s for ranks 1, 2 of 3 to come to 127.0.0.1:"
                                        : "waited 1 s for rank 0 at 127.0.0.1:"),
              std::string::npos)
        << ended.text;
  }
}

// The cause is this process's own, and no other rank's.
TEST(Tcp, TooFewDescriptorsAreNamed) {
  std::vector<Ended> all = runAll("few descriptors", 4);
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const Ended &ended) {
    return ended.text.find("raise its limit of open files (ulimit -n)") != std::string::npos;
  })) << all[0].text << all[1].text << all[2].text << all[3].text;
  for (const Ended &ended : all)
    EXPECT_EQ(ended.code, 0) << ended.text;
}

// A rank 0 that is none: it answers with noise.
TEST(Tcp, AnotherProgramAtThePort) {
  Socket listener;
  ASSERT_TRUE(listenAt(listeningAddress("127.0.0.1", 0), &listener).isOk());
  Process joining("conformance", placeOf(1, 2, localAddress(listener).port));
  Socket guest;
  while (!guest) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    guest = acceptOne(listener);
  }
  const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
  sendAll(guest, text, sizeof text, 1);
  Ended ended = joining.wait();
  EXPECT_EQ(ended.code, 3);
  EXPECT_NE(ended.text.find("is another program; CLEAVE_COMM_PORT"), std::string::npos) << ended.text;
}

namespace {

// The environment of one start, and what is to be made of it.
struct Start {
  Environment environment;
  Launcher launcher;
  int rank = 0, size = 0;
  std::string host = "";
  uint16_t port = 0;
};

void clearLaunchers() {
  for (const char *name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK",
        "MASTER_ADDR", "MASTER_PORT", "NCCL_COMM_ID", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
        "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_NODELIST",
        "SLURM_JOB_NODELIST", "SLURM_JOB_ID", "SLURM_STEP_ID", "CLEAVE_COMM", "CLEAVE_COMM_PORT",
        "OMPI_COMM_WORLD_LOCAL_RANK"})
    ::unsetenv(name);
}

void set(const Environment &environment) {
  clearLaunchers();
  for (const auto &[name, value] : environment)
    ::setenv(name.c_str(), value.c_str(), 1);
}

} // namespace

TEST(Launchers, AreToldApart) {
  Environment torch = {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "host7"}, {"MASTER_PORT", "29500"},
                       {"LOCAL_RANK", "0"}};
  Environment agent = torch, inSlurm = torch, underMpi = torch, chosen = torch, asked = torch;
  agent.insert(agent.end(), {{"TORCHELASTIC_RUN_ID", "r"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  inSlurm = agent;
  inSlurm.insert(inSlurm.end(), {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_SIZE", "2"}});
  underMpi.push_back({"OMPI_COMM_WORLD_SIZE", "2"});
  chosen.push_back({"CLEAVE_COMM_PORT", "4000"});
  asked.push_back({"CLEAVE_COMM", "mpi"});
  Environment slurm = {{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_JOB_ID", "1000"},
                       {"SLURM_STEP_ID", "2"}, {"SLURM_STEP_NODELIST", "gpu[07-12,20],cpu3"}};
  Environment pmix = slurm;
  pmix.push_back({"PMIX_RANK", "3"});
  std::vector<Start> starts = {
      {{}, Launcher::None},
      {{{"RANK", "1"}, {"WORLD_SIZE", "4"}}, Launcher::None}, // of somebody else's
      {{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "a"}}, Launcher::None},
      {torch, Launcher::Tcp, 1, 4, "host7", 29500},
      {agent, Launcher::Tcp, 1, 4, "host7", 29501}, // PyTorch's agent listens at its port
      {inSlurm, Launcher::Tcp, 1, 4, "host7", 29501},
      {chosen, Launcher::Tcp, 1, 4, "host7", 4000},
      {underMpi, Launcher::Mpi},
      {asked, Launcher::Mpi},
      {{{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"NCCL_COMM_ID", "[::1]:700"}}, Launcher::Tcp, 2, 4, "::1", 701},
      {slurm, Launcher::Tcp, 3, 8, "gpu07", 20000 + (1000 * 31 + 2) % 10000},
      {pmix, Launcher::Mpi},
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}}, Launcher::None}}; // a batch script
  for (const Start &start : starts) {
    set(start.environment);
    EXPECT_EQ(launcher(), start.launcher) << &start - starts.data();
    TcpPlace place;
    if (start.launcher != Launcher::Tcp)
      continue;
    Status status = readTcpPlace(&place);
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(place.rank, start.rank);
    EXPECT_EQ(place.size, start.size);
    EXPECT_EQ(place.host, start.host);
    EXPECT_EQ(place.port, start.port);
  }
  clearLaunchers();
}

TEST(Launchers, WhatIsMissingOrWrongIsNamed) {
  struct Case {
    Environment environment;
    const char *says;
  };
  for (const Case &each : std::vector<Case>{
           {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}}, "but MASTER_ADDR, the machine of rank 0, is not set"},
           {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "but MASTER_PORT, the port"},
           {{{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "RANK='2': expected a number from 0 to 1"},
           {{{"RANK", "-1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "RANK='-1': expected a number"},
           {{{"RANK", "0"}, {"WORLD_SIZE", "99999999999999999999"}, {"MASTER_ADDR", "a"}}, "WORLD_SIZE='99999999999999999999': expected"},
           {{{"RANK", "0"}, {"WORLD_SIZE", "two"}, {"MASTER_ADDR", "a"}}, "WORLD_SIZE='two': expected a number"},
           {{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2(x2)"}}, "SLURM_STEP_NUM_TASKS='2(x2)': expected a number"},
           {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "65536"}}, "MASTER_PORT='65536'"},
           {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "http"}}, "MASTER_PORT='http'"},
           {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "0"}}, "MASTER_PORT=0"}}) {
    set(each.environment);
    TcpPlace place;
    ASSERT_EQ(launcher(), Launcher::Tcp) << each.says;
    EXPECT_NE(readTcpPlace(&place).message().find(each.says), std::string::npos) << readTcpPlace(&place).message();
  }
  clearLaunchers();
}

TEST(Launchers, NumberTheProcessesOfAMachine) {
  set({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "a"}, {"LOCAL_RANK", "1"}});
  EXPECT_EQ(placeOnMachine(5), 1);
  ::unsetenv("LOCAL_RANK");
  EXPECT_EQ(placeOnMachine(5), 5);
  set({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "2"}});
  EXPECT_EQ(placeOnMachine(5), 2);
  set({{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"LOCAL_RANK", "1"}});
  EXPECT_EQ(placeOnMachine(5), 3);
  clearLaunchers();
  EXPECT_EQ(placeOnMachine(5), 5);
}

int main(int argc, char **argv) {
  if (const char *role = std::getenv(kRole))
    return play(role);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
