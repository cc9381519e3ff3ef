// What the processes of one run must have been given alike.
//
// Processes that run other programs, or are given other options, wait for each other for ever, or train replicas that
// are no replicas. So they compare before they begin, and each one that differs from the first says in what:
//
//   SameRun same;
//   same.add("--steps", "100");
//   CLEAVE_TRY(same.check(session));
//
// Paths are not compared: each machine may have its own (textWithoutFiles of DataSpec.h). What the files hold is.
#ifndef CLEAVE_RUNTIME_SESSION_SAMERUN_H
#define CLEAVE_RUNTIME_SESSION_SAMERUN_H

#include "runtime/session/Session.h"

namespace cleave::rt {

class SameRun {
public:
  void add(std::string what, std::string_view text);
  // All processes meet here, each with entries of the same names.
  Status check(Session &session) const;

private:
  std::vector<std::string> what_;
  std::vector<uint64_t> hashes_;
};

// That all processes were started from the same compiled program and for the same command: the first thing that they
// tell each other.
Status checkSameProgram(Session &session, const cleave_model &model, const std::string &command);

} // namespace cleave::rt

#endif
