// Point-to-point exchange over MPI, with the C interface of MpiApi.h. It is the only file that includes mpi.h.
#include "runtime/base/WaitClock.h"
#include "runtime/comm/mpi/CallLimit.h"
#include "runtime/comm/mpi/MpiApi.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxMessage = size_t{1} << 30; // MPI counts are int
// How long an exchange polls without calling give_up. MPI_Testall() may yield the core to other processes. So on a busy
// machine even a few polls take long, and a lost peer would be found late.
constexpr std::chrono::milliseconds kSpin{1};
// MPI's start and end take seconds on a busy machine, even if no rank is late.
constexpr double kLeastCallSeconds = 10;

MPI_Comm world = MPI_COMM_NULL; // our own, so that messages of an embedding program do not mix with Cleave's
bool isInWorld = false;         // also after join() or leave() has failed
double callTimeout = 0;         // the limit in seconds for MPI_Init_thread() and MPI_Finalize(); 0: none

int fail(char *error, size_t size, const char *call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::snprintf(error, size, "%s failed: %s", call, text);
  return 1;
}

// Ends the process if a call of MPI takes too long; see join() in MpiApi.h.
class StartOrEnd {
public:
  explicit StartOrEnd(const std::string &awaited) {
    if (callTimeout > 0)
      limit_.emplace(callTimeout, awaited + "; CLEAVE_COMM_TIMEOUT_S sets the limit, of at least 10 s");
  }

private:
  std::optional<CallLimit> limit_;
};

// MPI cannot be initialized twice, so it is finalized when the process exits. A process that is still in the world then
// has failed: without MPI_Finalize(), the launcher ends the others.
void finalizeAtExit() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized || isInWorld)
    return;
  StartOrEnd limit("the other ranks to end (MPI_Finalize): one is stopped, or its machine is lost; all ranks had ended "
                   "their session before, so what they saved is whole");
  MPI_Finalize();
}

double secondsNow() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

// Waits for a call that all ranks must make. After a failure the call stays under way, and the process cannot leave the
// world in order.
int finish(const char *call, MPI_Request request, double timeoutSeconds, char *error, size_t errorSize) {
  cleave::rt::WaitClock clock;
  for (int done = 0;;) {
    if (int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE))
      return fail(error, errorSize, call, code);
    if (done)
      return 0;
    if (double waited = clock.look(secondsNow()); waited > timeoutSeconds) {
      std::snprintf(error, errorSize, "waited %s s for the other ranks; CLEAVE_COMM_TIMEOUT_S sets the limit",
                    cleave::rt::secondsText(waited).c_str());
      return 1;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

int join(double timeoutSeconds, int endsProcess, int *rank, int *size, char *error, size_t errorSize) {
  int already = 0, finalized = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&already);
  MPI_Finalized(&finalized);
  if (finalized) {
    std::snprintf(error, errorSize, "this program has called MPI_Finalize() already");
    return 1;
  }
  if (already) {
    MPI_Query_thread(&provided);
  } else {
    callTimeout = endsProcess ? std::max(timeoutSeconds, kLeastCallSeconds) : 0;
    StartOrEnd limit("the other ranks to start (MPI_Init): one is stopped, or its machine is lost");
    if (int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided))
      return fail(error, errorSize, "MPI_Init_thread", code);
    std::atexit(finalizeAtExit);
  }
  if (provided < MPI_THREAD_MULTIPLE) {
    std::snprintf(error, errorSize, "this MPI gives thread level %d; MPI_THREAD_MULTIPLE (%d) is needed", provided,
                  MPI_THREAD_MULTIPLE);
    return 1;
  }
  isInWorld = true;
  MPI_Request made;
  if (int code = MPI_Comm_idup(MPI_COMM_WORLD, &world, &made))
    return fail(error, errorSize, "MPI_Comm_idup", code);
  if (int failed = finish("MPI_Comm_idup", made, timeoutSeconds, error, errorSize))
    return failed;
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world, rank);
  MPI_Comm_size(world, size);
  return 0;
}

// Posts both sides. There are at most two requests, because the caller splits larger messages.
int post(const cleave_mpi_exchange &step, MPI_Request *requests, int *count, char *error, size_t errorSize) {
  if (step.from >= 0)
    if (int code = MPI_Irecv(step.receive_data, static_cast<int>(step.receive_bytes), MPI_BYTE, step.from, step.channel,
                             world, &requests[(*count)++]))
      return fail(error, errorSize, "MPI_Irecv", code);
  if (step.to >= 0)
    if (int code = MPI_Isend(step.send_data, static_cast<int>(step.send_bytes), MPI_BYTE, step.to, step.channel, world,
                             &requests[(*count)++]))
      return fail(error, errorSize, "MPI_Isend", code);
  return 0;
}

// MPI accepts a message that is too short without an error, so the received size is checked.
int checkReceived(const cleave_mpi_exchange &step, MPI_Status *status, char *error, size_t errorSize) {
  int received = 0;
  MPI_Get_count(status, MPI_BYTE, &received);
  if (step.from < 0 || static_cast<size_t>(received) == step.receive_bytes)
    return 0;
  std::snprintf(error, errorSize, "expected %zu bytes from rank %d; got: %d; the ranks' plans disagree",
                step.receive_bytes, step.from, received);
  return 1;
}

// After the caller has given up, nothing may be written into its buffers. A send cannot be taken back, so its request
// is only freed.
void withdraw(MPI_Request *requests, int count) {
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL)
      continue;
    MPI_Cancel(&requests[i]);
    MPI_Request_free(&requests[i]);
  }
}

// The peer of a side that is not done, or -1 if the side is done.
int awaited(int peer, MPI_Request request) {
  int done = 1;
  if (peer >= 0)
    MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
  return done ? -1 : peer;
}

// Writes a message with the peers of the sides that are not done.
void tellAwaited(double seconds, const cleave_mpi_exchange &step, int from, int to, char *error, size_t errorSize) {
  if (from < 0 && to < 0) { // they have ended since they were tested
    from = step.from;
    to = step.to;
  }
  std::string ranks = "rank " + std::to_string(from >= 0 ? from : to);
  if (from >= 0 && to >= 0 && from != to)
    ranks += " or " + std::to_string(to);
  std::snprintf(error, errorSize, "waited %s s for %s; CLEAVE_COMM_TIMEOUT_S sets the limit",
                cleave::rt::secondsText(seconds).c_str(), ranks.c_str());
}

int exchangePiece(const cleave_mpi_exchange &step, char *error, size_t errorSize) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int count = 0, done = 0;
  if (post(step, requests, &count, error, errorSize))
    return 1;
  cleave::rt::WaitClock clock;
  long spins = step.poll_us ? 1 : 200;
  Clock::time_point begin = Clock::now();
  for (long polls = 0; !done; ++polls) {
    if (int code = MPI_Testall(count, requests, &done, statuses))
      return fail(error, errorSize, "MPI_Testall", code);
    if (done || (polls < spins && Clock::now() - begin < kSpin))
      continue;
    if (step.give_up &&
        step.give_up(step.context, awaited(step.from, requests[0]), awaited(step.to, requests[count - 1]))) {
      withdraw(requests, count);
      return CLEAVE_MPI_GAVE_UP;
    }
    // Ranks and progress threads often outnumber cores, so the core is left to threads that compute.
    std::this_thread::sleep_for(std::chrono::microseconds(step.poll_us ? step.poll_us : polls < 2000 ? 5 : 50));
    double waited = clock.look(secondsNow());
    if (waited > step.timeout_seconds) {
      tellAwaited(waited, step, awaited(step.from, requests[0]), awaited(step.to, requests[count - 1]), error,
                  errorSize);
      withdraw(requests, count);
      return 1;
    }
  }
  return checkReceived(step, &statuses[0], error, errorSize);
}

int exchange(const cleave_mpi_exchange *whole, char *error, size_t errorSize) {
  cleave_mpi_exchange rest = *whole;
  do {
    cleave_mpi_exchange piece = rest;
    piece.send_bytes = rest.send_bytes < kMaxMessage ? rest.send_bytes : kMaxMessage;
    piece.receive_bytes = rest.receive_bytes < kMaxMessage ? rest.receive_bytes : kMaxMessage;
    if (int failed = exchangePiece(piece, error, errorSize))
      return failed;
    rest.send_data = static_cast<const char *>(rest.send_data) + piece.send_bytes;
    rest.receive_data = static_cast<char *>(rest.receive_data) + piece.receive_bytes;
    rest.send_bytes -= piece.send_bytes;
    rest.receive_bytes -= piece.receive_bytes;
    if (rest.send_bytes == 0)
      rest.to = -1;
    if (rest.receive_bytes == 0)
      rest.from = -1;
  } while (rest.to >= 0 || rest.from >= 0);
  return 0;
}

int allGather(const void *mine, size_t bytes, void *all, double timeoutSeconds, char *error, size_t errorSize) {
  int count = static_cast<int>(bytes), size = 0;
  MPI_Comm_size(world, &size);
  // After a failure, MPI may still use the buffers, so they are never freed.
  struct Buffers {
    std::vector<char> mine, all;
  };
  auto *buffers = new Buffers{std::vector<char>(bytes), std::vector<char>(bytes * static_cast<size_t>(size))};
  std::memcpy(buffers->mine.data(), mine, bytes);
  MPI_Request gathered;
  if (int code =
          MPI_Iallgather(buffers->mine.data(), count, MPI_BYTE, buffers->all.data(), count, MPI_BYTE, world, &gathered))
    return fail(error, errorSize, "MPI_Iallgather", code);
  if (int failed = finish("MPI_Iallgather", gathered, timeoutSeconds, error, errorSize))
    return failed;
  std::memcpy(all, buffers->all.data(), buffers->all.size());
  delete buffers;
  return 0;
}

int leave(double timeoutSeconds, char *error, size_t errorSize) {
  MPI_Request met;
  if (int code = MPI_Ibarrier(world, &met))
    return fail(error, errorSize, "MPI_Ibarrier", code);
  if (int failed = finish("MPI_Ibarrier", met, timeoutSeconds, error, errorSize))
    return failed;
  MPI_Comm_free(&world);
  isInWorld = false;
  return 0;
}

} // namespace

extern "C" const cleave_mpi_api *cleave_mpi(void) {
  static const cleave_mpi_api api = {CLEAVE_MPI_ABI, join, exchange, allGather, leave};
  return &api;
}
