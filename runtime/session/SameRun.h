// Checks that all processes of a run were given the same options.
//
// Processes with other programs or other options would wait for each other forever, or train replicas that differ. So
// they compare before they begin, and each process that differs from the first one names the difference:
//
//   SameRun same;
//   same.add("--steps", "100");
//   CLEAVE_TRY(same.check(session));
//
// Paths are not compared, because each machine may have its own (textWithoutFiles of DataSpec.h). The contents of the
// files are compared.
#ifndef CLEAVE_RUNTIME_SESSION_SAMERUN_H
#define CLEAVE_RUNTIME_SESSION_SAMERUN_H

#include "runtime/session/Session.h"

namespace cleave::rt {

class SameRun {
public:
  void add(std::string what, std::string_view text);
  // All processes must call it, each with entries of the same names.
  Status check(Session &session) const;

private:
  std::vector<std::string> what_;
  std::vector<uint64_t> hashes_;
};

// Fails if processes were started from different compiled programs, or for different commands. This is the first
// comparison that they make.
Status checkSameProgram(Session &session, const cleave_model &model, const std::string &command);

} // namespace cleave::rt

#endif
