// Which thread may use the communicators of GPUs, and until when. The cases: a rank gives up while another thread is
// about to call NCCL, or is inside a call; a world is destroyed after that; a graph has captured a communicator; a
// thread never returns from NCCL. The emulated NCCL ends a program that uses a communicator after its abort or
// destruction, and waits for graphs as NCCL does. So the program starts itself once for each case. Ranks are destroyed
// one after the other, as in a session.
#include "runtime/device/cuda/NcclWorld.h"
#include "runtime/comm/LocalWorld.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace cleave::rt;

namespace {

constexpr const char *kRole = "CLEAVE_TEST_WORLD_ROLE";
int ranks = 2;
GroupShape shape{{0}, {}}; // of each rank's group, in a mesh of all ranks
std::vector<uint32_t> mesh{2};

#define CLEAVE_TRY_TEXT(expression)                                                                                    \
  if (Status status = (expression); !status.isOk())                                                                    \
  return status.message()

void pause(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// Called when a stream has to wait for an event. This is after the check of the world's health, and before the call of
// NCCL.
thread_local std::function<void()> atWait;
int (*streamWaitEvent)(cuda::Handle, cuda::Handle, unsigned) = nullptr;
int waitEvent(cuda::Handle stream, cuda::Handle event, unsigned flags) {
  if (auto hook = std::exchange(atWait, nullptr))
    hook();
  return streamWaitEvent(stream, event, flags);
}

// Called once instead of the launch of a graph.
thread_local std::function<void()> atLaunch;
std::atomic<int> launches{0};
int (*graphLaunch)(cuda::Handle, cuda::Handle) = nullptr;
int launch(cuda::Handle graph, cuda::Handle stream) {
  ++launches;
  if (auto hook = std::exchange(atLaunch, nullptr))
    hook();
  return graphLaunch(graph, stream);
}

std::atomic<int> abortsBegun{0}, abortsOver{0};
int (*ncclAbort)(cuda::Handle) = nullptr;
int countAbort(cuda::Handle comm) {
  ++abortsBegun;
  int result = ncclAbort(comm);
  pause(300); // longer than a rank needs for its whole end
  ++abortsOver;
  return result;
}

std::atomic<int> retained{0};
int (*contextRetain)(cuda::Handle *, int) = nullptr;
int retain(cuda::Handle *context, int device) {
  ++retained;
  return contextRetain(context, device);
}

// A rank with a GPU of its own, used by one thread.
class RankOnGpu {
public:
  RankOnGpu(const cuda::Driver &driver, Communicator &host) : driver_(driver), host_(host) {
    require(driver_.contextRetain(&context_, host.rank()) == 0 && driver_.contextSetCurrent(context_) == 0,
            "a context");
    require(streams_.open(driver_).isOk(), "a stream");
    require(driver_.hostAllocate(&done_, sizeof(uint32_t), 0) == 0, "pinned memory");
    std::vector<uint32_t> numbers(NcclWorld::kMarks);
    std::iota(numbers.begin(), numbers.end(), 0u);
    size_t bytes = numbers.size() * sizeof(uint32_t);
    for (cuda::Pointer *memory : {&marks_, &data_})
      require(driver_.memoryAllocate(memory, bytes) == 0 &&
                  driver_.copy(*memory, reinterpret_cast<cuda::Pointer>(numbers.data()), bytes, streams_.main()) == 0,
              "memory");
    require(streams_.synchronize().isOk(), "copies");
    group_ = meshGroup(mesh, shape.axes, host.rank(), shape.only);
  }
  ~RankOnGpu() {
    if (world)
      world->abortIfBroken();
    if (graph_) {
      driver_.streamSynchronize(streams_.main());
      driver_.graphExecDestroy(graph_);
    }
    world.reset();
    streams_.close();
    driver_.memoryFree(marks_);
    driver_.memoryFree(data_);
    driver_.hostFree(done_);
    driver_.contextRelease(host_.rank());
  }
  Status join() {
    NcclWorld::Setup setup{&driver_, host_.rank(), context_, &streams_, static_cast<volatile uint32_t *>(done_),
                           marks_};
    CLEAVE_TRY(NcclWorld::join(setup, {host_, mesh, {shape}}, &world));
    world->startRun(nullptr);
    return streams_.fork();
  }
  Status allReduce() {
    Address data{reinterpret_cast<std::byte *>(data_), 64};
    CollectiveRequest request{Opcode::AllReduce, group_,         host_, data, {},    fb::Access::read_write, 16,
                              fb::DType::f32,    Reduction::Sum, 0,     0,    place_};
    return world->collective(request, data.base, streams_.main(), place_);
  }
  Status synchronize() { return streams_.synchronize(); }
  // Captures two operations as a graph.
  Status capture() {
    cuda::Handle captured = nullptr;
    CLEAVE_TRY(cuda::check(driver_.captureBegin(streams_.main(), cuda::kCaptureThisThread), "cuStreamBeginCapture"));
    world->startRun(nullptr);
    CLEAVE_TRY(streams_.fork());
    for (int i = 0; i < 2; ++i)
      CLEAVE_TRY(allReduce());
    script_ = world->script();
    CLEAVE_TRY(cuda::check(driver_.captureEnd(streams_.main(), &captured), "cuStreamEndCapture"));
    CLEAVE_TRY(cuda::check(driver_.graphInstantiate(&graph_, captured, 0), "cuGraphInstantiate"));
    return cuda::check(driver_.graphDestroy(captured), "cuGraphDestroy");
  }
  Status replay() {
    world->startRun(&script_);
    return world->launch(graph_, streams_.main());
  }
  void awaitTrouble() const {
    for (int i = 0; i < 1000 && world->health().isOk(); ++i)
      pause(10);
  }
  static void require(bool holds, const char *what) {
    if (holds)
      return;
    std::fprintf(stderr, "no %s\n", what);
    std::_Exit(2);
  }
  std::unique_ptr<NcclWorld> world;

private:
  const cuda::Driver &driver_;
  Communicator &host_;
  CudaStreams streams_;
  cuda::Handle context_ = nullptr, graph_ = nullptr;
  NcclWorld::Script script_;
  void *done_ = nullptr;
  cuda::Pointer marks_ = 0, data_ = 0;
  Group group_;
  const std::string place_ = "an instruction";
};

using Body = std::function<std::string(RankOnGpu &, Communicator &)>;

// Runs `body` as each rank. It returns an empty text if all is well. `aborts`: the number of aborts that must be over
// when all ranks have ended; 0: not checked.
int playWith(const Body &body, int aborts = 0) {
  const cuda::Driver *library = nullptr;
  Status opened = cuda::openDriver(&library);
  RankOnGpu::require(opened.isOk(), opened.message().c_str());
  RankOnGpu::require(library->init(0) == 0, "driver");
  static cuda::Driver driver = *library; // threads that never return still read it
  streamWaitEvent = std::exchange(driver.streamWaitEvent, waitEvent);
  contextRetain = std::exchange(driver.contextRetain, retain);
  graphLaunch = std::exchange(driver.graphLaunch, launch);
  const cuda::Nccl *nccl = nullptr;
  RankOnGpu::require(cuda::openNccl(&nccl).isOk(), "NCCL");
  ncclAbort = std::exchange(const_cast<cuda::Nccl *>(nccl)->abort, countAbort);
  std::vector<std::string> said(static_cast<size_t>(ranks));
  {
    LocalWorld hosts(ranks);
    std::vector<std::thread> threads;
    std::atomic<int> gone{0};
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        {
          RankOnGpu gpu(driver, hosts.communicator(rank));
          said[static_cast<size_t>(rank)] = body(gpu, hosts.communicator(rank));
          while (gone < rank)
            pause(1);
        }
        ++gone;
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  if (aborts && (abortsBegun != aborts || abortsOver != aborts))
    said[0] += "of " + std::to_string(aborts) + " aborts, " + std::to_string(abortsBegun) + " have begun, and " +
               std::to_string(abortsOver) + " are over";
  for (const std::string &text : said)
    std::printf("%s\n", text.empty() ? "all is well" : text.c_str());
  return 0;
}

// Runs two operations. During the second one, rank 0 gives up by calling `second`.
std::string giveUpInTheSecond(RankOnGpu &gpu, Communicator &host, const std::function<Status()> &second) {
  Status status = gpu.join();
  if (status.isOk())
    status = gpu.allReduce();
  if (!status.isOk())
    return status.message();
  if (host.rank() == 0)
    status = second();
  gpu.awaitTrouble();
  if (gpu.world->health().isOk())
    return "no trouble was found";
  pause(200); // by then the communicators have been aborted
  return status.message();
}

// The watchdog aborts while the thread is about to call NCCL.
std::string between(RankOnGpu &gpu, Communicator &host) {
  std::string said = giveUpInTheSecond(gpu, host, [&] {
    atWait = [&] {
      host.abort(internal("out of ideas"));
      pause(500);
    };
    return gpu.allReduce();
  });
  if (host.rank() == 0)
    return said.empty() ? "the operation is under way in a communicator that was aborted" : "";
  return said;
}

// The watchdog aborts while the thread is inside a call of NCCL (CLEAVE_EMULATED_NCCL_PAUSE_MS). The call must end
// before its communicator does.
std::string within(RankOnGpu &gpu, Communicator &host) {
  return giveUpInTheSecond(gpu, host, [&] {
    std::thread other([&] {
      pause(100);
      host.abort(internal("out of ideas"));
    });
    Status status = gpu.allReduce();
    other.join();
    return status;
  });
}

// Communicators are freed once, even if nobody calls abortIfBroken().
std::string destroyed(RankOnGpu &gpu, Communicator &host) {
  std::string said = giveUpInTheSecond(gpu, host, [&] {
    host.abort(internal("out of ideas"));
    return Status::ok();
  });
  gpu.world.reset();
  return said;
}

// In a graph that has captured the communicator, rank 0 waits for rank 1, which gives up.
std::string captured(RankOnGpu &gpu, Communicator &host) {
  CLEAVE_TRY_TEXT(gpu.join());
  CLEAVE_TRY_TEXT(gpu.capture());
  CLEAVE_TRY_TEXT(gpu.replay());
  CLEAVE_TRY_TEXT(gpu.synchronize());
  if (host.rank() == 0) {
    CLEAVE_TRY_TEXT(gpu.replay());
  } else {
    pause(200);
    host.abort(internal("out of ideas"));
  }
  CLEAVE_TRY_TEXT(gpu.synchronize());
  gpu.awaitTrouble();
  return gpu.world->health().isOk() ? "no trouble was found" : "";
}

// A graph is not launched after its rank has given up.
std::string refused(RankOnGpu &gpu, Communicator &host) {
  CLEAVE_TRY_TEXT(gpu.join());
  CLEAVE_TRY_TEXT(gpu.capture());
  CLEAVE_TRY_TEXT(host.barrier());
  if (host.rank() == 0)
    host.abort(internal("out of ideas"));
  gpu.awaitTrouble();
  bool isOk = gpu.replay().isOk();
  return isOk || launches > 0 ? "a graph with communicators that were aborted is launched" : "";
}

// A communicator is not aborted while a graph of its rank is being launched. The communicator of the other rank is.
std::string launching(RankOnGpu &gpu, Communicator &host) {
  CLEAVE_TRY_TEXT(gpu.join());
  CLEAVE_TRY_TEXT(gpu.capture());
  CLEAVE_TRY_TEXT(host.barrier());
  std::string said;
  if (host.rank() == 0) {
    atLaunch = [&] {
      host.abort(internal("out of ideas"));
      pause(500);
      said = abortsBegun > 1 ? "a communicator is aborted while a graph that has captured it is launched" : "";
    };
    CLEAVE_TRY_TEXT(gpu.replay());
  }
  gpu.awaitTrouble();
  return said;
}

// Rank 1 never comes (CLEAVE_EMULATED_NCCL_STALL_SETUP). Threads never return from NCCL, and the context of their GPU
// stays with them.
std::string left(RankOnGpu &gpu, Communicator &host) {
  Status status = gpu.join();
  if (status.isOk() || gpu.world)
    return "there is a world";
  while (retained < 2 * ranks && host.rank() == 0)
    pause(10);
  return "";
}

// Rank 0 waits inside its second call (CLEAVE_EMULATED_NCCL_STALL_CALL) for a rank that never makes this call.
std::string connecting(RankOnGpu &gpu, Communicator &host) {
  CLEAVE_TRY_TEXT(gpu.join());
  CLEAVE_TRY_TEXT(gpu.allReduce());
  CLEAVE_TRY_TEXT(gpu.synchronize());
  if (host.rank() == 0) {
    Status status = gpu.allReduce();
    if (status.code() != Code::PeerLost ||
        status.message().find("this rank was in an instruction") == std::string::npos)
      return "the error is " + status.message();
  }
  gpu.awaitTrouble();
  return gpu.world->health().isOk() ? "no trouble was found" : "";
}

// Rank 1 makes `operations` operations, and rank 0 makes one more. With a trace, a run ends after each operation.
std::string silent(RankOnGpu &gpu, Communicator &host, int operations, bool isTraced) {
  CLEAVE_TRY_TEXT(gpu.join());
  for (int i = 0; i < operations + (host.rank() == 0); ++i) {
    CLEAVE_TRY_TEXT(gpu.allReduce());
    if (!isTraced || i == operations)
      continue;
    CLEAVE_TRY_TEXT(gpu.synchronize());
    gpu.world->finishRun();
  }
  gpu.awaitTrouble();
  if (gpu.world->health().isOk()) {
    std::printf("no trouble was found\n");
    std::fflush(stdout);
    std::_Exit(3);
  }
  return "";
}

// Rank 2 is in no part of the split. Rank 0 never joins its part (CLEAVE_EMULATED_NCCL_STALL_SETUP).
std::string apart(RankOnGpu &gpu, Communicator &) {
  Status status = gpu.join();
  return status.code() == Code::PeerLost ? "" : "not lost: " + status.message();
}

// A group of all ranks in an order that is not that of the mesh.
std::string turned(RankOnGpu &gpu, Communicator &) {
  CLEAVE_TRY_TEXT(gpu.join());
  CLEAVE_TRY_TEXT(gpu.allReduce());
  return gpu.synchronize().message();
}

// The time for which a process is stopped (Ctrl-Z) does not count as waiting, even if it is longer than the limit.
std::string stopped(RankOnGpu &gpu, Communicator &host) {
  CLEAVE_TRY_TEXT(gpu.join());
  if (host.rank() == 0) { // waits for rank 1
    CLEAVE_TRY_TEXT(gpu.allReduce());
  } else {
    pause(300);
    pid_t self = ::getpid();
    if (::fork() == 0) {
      ::sleep(4);
      ::kill(self, SIGCONT);
      ::_exit(0);
    }
    ::raise(SIGSTOP);
    pause(300);
    CLEAVE_TRY_TEXT(gpu.allReduce());
  }
  CLEAVE_TRY_TEXT(gpu.synchronize());
  return gpu.world->health().message();
}

int play(const std::string &role) {
  if (role == "apart") {
    ranks = 3;
    mesh = {3};
    shape = {{0}, {{0, 1}}};
    return playWith(apart);
  }
  if (role == "turned") {
    ranks = 4;
    mesh = {2, 2};
    shape = {{1, 0}, {}};
    return playWith(turned);
  }
  if (role == "many" || role == "traced") // more operations than NcclWorld has marks (4096)
    return playWith([&](RankOnGpu &gpu, Communicator &host) {
      return role == "many" ? silent(gpu, host, 4200, false) : silent(gpu, host, 2, true);
    });
  return playWith(role == "between"      ? between
                  : role == "within"     ? within
                  : role == "destroyed"  ? destroyed
                  : role == "stopped"    ? stopped
                  : role == "captured"   ? captured
                  : role == "refused"    ? refused
                  : role == "launching"  ? launching
                  : role == "connecting" ? connecting
                                         : left,
                  role == "captured" ? ranks : 0);
}

// Returns all that the program prints in that role.
std::string run(const std::string &role, const std::string &environment = "") {
  char self[4096] = "";
  EXPECT_GT(::readlink("/proc/self/exe", self, sizeof self - 1), 0);
  std::string command = std::string(kRole) + "=" + role + " CLEAVE_LIBCUDA=" CLEAVE_EMULATED_LIBRARY +
                        " CLEAVE_LIBNCCL=" CLEAVE_EMULATED_NCCL " CLEAVE_EMULATED_DEVICES=4 " + environment +
                        " timeout 60 " + self + " 2>&1; echo \"code $?\"";
  FILE *pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int c = 0; pipe && (c = std::fgetc(pipe)) != EOF;)
    text += static_cast<char>(c);
  if (pipe)
    ::pclose(pipe);
  return text;
}

constexpr const char *kWell = "all is well\nall is well\ncode 0\n";

} // namespace

TEST(NcclWorld, NobodyCallsWithACommunicatorThatWasAborted) { EXPECT_EQ(run("between"), kWell); }

TEST(NcclWorld, AnAbortWaitsForCallsThatAreUnderWay) {
  EXPECT_EQ(run("within", "CLEAVE_EMULATED_NCCL_PAUSE_MS=400"), kWell);
}

TEST(NcclWorld, CommunicatorsAreFreedOnce) { EXPECT_EQ(run("destroyed"), kWell); }

TEST(NcclWorld, AnAbortEndsThoughGraphsHaveCapturedTheCommunicator) { EXPECT_EQ(run("captured"), kWell); }

TEST(NcclWorld, NoGraphIsLaunchedWithACommunicatorThatWasAborted) { EXPECT_EQ(run("refused"), kWell); }

TEST(NcclWorld, AnAbortWaitsForALaunchThatIsUnderWay) { EXPECT_EQ(run("launching"), kWell); }

TEST(NcclWorld, AProcessThatIsStoppedHasNotWaited) { EXPECT_EQ(run("stopped", "CLEAVE_COMM_TIMEOUT_S=3"), kWell); }

TEST(NcclWorld, AThreadThatIsLeftBehindKeepsItsContext) {
  EXPECT_EQ(run("left", "CLEAVE_EMULATED_NCCL_STALL_SETUP=1,1 CLEAVE_COMM_TIMEOUT_S=1"), kWell);
}

TEST(NcclWorld, AWaitInsideACallEndsAtTheLimit) {
  std::string said = run("connecting", "CLEAVE_EMULATED_NCCL_STALL_CALL=0,2 CLEAVE_COMM_TIMEOUT_S=2");
  EXPECT_EQ(said.substr(said.find('\n') + 1), kWell) << said; // the first line is NCCL's own message
}

TEST(NcclWorld, ALongRunHasALimit) { EXPECT_EQ(run("many", "CLEAVE_COMM_TIMEOUT_S=3"), kWell); }

TEST(NcclWorld, ATraceHasALimit) { EXPECT_EQ(run("traced", "CLEAVE_COMM_TIMEOUT_S=2"), kWell); }

TEST(NcclWorld, ARankInNoPartSaysThatAnotherIsLost) {
  std::string said = run("apart", "CLEAVE_EMULATED_NCCL_STALL_SETUP=0,2 CLEAVE_COMM_TIMEOUT_S=1");
  EXPECT_NE(said.find("all is well\nall is well\nall is well\ncode 0\n"), std::string::npos) << said;
}

TEST(NcclWorld, AGroupOfAllMayHaveAnOrder) {
  EXPECT_EQ(run("turned"), "all is well\nall is well\nall is well\nall is well\ncode 0\n");
}

int main(int argc, char **argv) {
  if (const char *role = std::getenv(kRole))
    return play(role);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
