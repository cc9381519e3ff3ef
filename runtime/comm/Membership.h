// Whether this process has joined the other processes of its launcher. A transport (MPI, or NCCL alone) allows only one
// session at a time. After a rank was lost, the process cannot join again.
#ifndef CLEAVE_RUNTIME_COMM_MEMBERSHIP_H
#define CLEAVE_RUNTIME_COMM_MEMBERSHIP_H

#include "runtime/base/Status.h"

#include <atomic>
#include <string>

namespace cleave::rt {

class Membership {
public:
  // `launchers` is for messages: "mpirun or srun".
  explicit constexpr Membership(const char *launchers) : launchers_(launchers) {}

  // Fails if the process may not join. Callers must hold a lock from here to begin().
  Status check() const {
    if (state_ == State::Joined)
      return invalidArgument("a process started by " + std::string(launchers_) +
                             " has one session at a time; destroy the other one first");
    if (state_ == State::Lost)
      return peerLost(
          "an earlier session of this process, or of one that was started with it, has failed; restart all processes");
    return Status::ok();
  }
  void begin() { state_ = State::Joined; }
  void end(bool isLost) { state_ = isLost ? State::Lost : State::None; }

private:
  enum class State { None, Joined, Lost };
  const char *launchers_;
  std::atomic<State> state_{State::None};
};

} // namespace cleave::rt

#endif
