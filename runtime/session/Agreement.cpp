// Part of Session: what processes tell each other outside of programs. Without other processes, everybody agrees.
#include "runtime/session/Session.h"

#include "runtime/base/Log.h"
#include "runtime/comm/Communicator.h"

#include <algorithm>

namespace cleave::rt {

void Session::abandon(const Status &reason) {
  if (processes())
    processes()->abort(reason);
}

Status Session::agree(Status mine, const char *what, unsigned channel, bool *haveAnswered) {
  bool all = true;
  Status asked = processes() ? processes()->agree(mine.isOk(), &all, channel) : Status::ok();
  if (haveAnswered)
    *haveAnswered = asked.isOk();
  CLEAVE_TRY(std::move(asked));
  if (mine.isOk() && !all)
    return peerLost(std::string("another process could not ") + what + "; its message says why");
  return mine;
}

Status Session::agreeWithLeader(const std::vector<uint64_t> &mine, const Difference &difference) {
  if (!processes())
    return Status::ok();
  std::vector<uint64_t> leaders = mine;
  CLEAVE_TRY(processes()->broadcast(leaders.data(), leaders.size() * sizeof leaders[0], 0));
  auto other = std::mismatch(mine.begin(), mine.end(), leaders.begin());
  Status same;
  if (other.first != mine.end())
    same = difference(static_cast<size_t>(other.first - mine.begin()), *other.second);
  bool all = true;
  CLEAVE_TRY(processes()->agree(same.isOk(), &all));
  if (all)
    return Status::ok();
  // All say the reason, because any of them may be the first to print.
  std::string reason = same.message();
  Status told = processes()->firstText(&reason);
  return !same.isOk() ? same : told.isOk() ? peerLost(reason) : told;
}

Status Session::agreeOn(uint64_t mine, const std::string &what) {
  return agreeWithLeader({mine}, [&](size_t, uint64_t leaders) {
    return invalidArgument(what + ": this process has " + std::to_string(mine) + ", the first one " +
                           std::to_string(leaders) + "; all must see the same files");
  });
}

Status Session::agreeOnHash(uint64_t mine, const std::string &what) {
  return agreeWithLeader({mine}, [&](size_t, uint64_t) {
    return invalidArgument(what + " of process " + std::to_string(processes()->rank()) +
                           " are not those of the first one; all processes need the same files");
  });
}

Status Session::gather(std::byte *data, size_t size) {
  if (!processes())
    return Status::ok();
  if (processes()->rank() != 0)
    return processes()->send(0, data, size);
  std::vector<std::byte> part(size);
  for (int peer = 1; peer < processes()->size(); ++peer) {
    CLEAVE_TRY(processes()->receive(peer, part.data(), size));
    for (size_t i = 0; i < size; ++i)
      data[i] |= part[i];
  }
  return Status::ok();
}

Status Session::share(std::byte *data, size_t size, unsigned holder) {
  if (!processes())
    return Status::ok();
  return processes()->broadcast(data, size, static_cast<int>(holder), kControlChannel);
}

void Session::share(std::string *text) {
  if (processes())
    if (Status told = processes()->firstText(text, kControlChannel); !told.isOk())
      log(LogLevel::Warning, -1, told.message());
}

} // namespace cleave::rt
