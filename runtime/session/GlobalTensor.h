// A program's input or output as the caller of the C API sees it: the global batch in one array.
//
// Along the batch dimension the array holds data rank after data rank, and within one, frame after frame; without a
// batch dimension it is what one rank holds, equal on all. Where the batch is not the first dimension, what a frame of
// a rank holds lies in several runs: for x[3, batch, 4] in three, which are a whole global batch apart.
#ifndef CLEAVE_RUNTIME_SESSION_GLOBALTENSOR_H
#define CLEAVE_RUNTIME_SESSION_GLOBALTENSOR_H

#include "runtime/session/Session.h"

namespace cleave::rt {

class GlobalTensor {
public:
  // Finds `name` among the inputs (or outputs) of an entry program.
  static Status find(Session &session, const char *program, const char *name, bool output, GlobalTensor *result);
  // The same by its place; NotFound past the last.
  static Status at(Session &session, const char *program, size_t index, bool output, GlobalTensor *result);

  const fb::Port &port() const { return *port_; }
  const Shape &shape() const { return shape_; }
  size_t bytes() const { return bytes_; }

  void scatter(Session &session, const std::byte *data) const;
  // All processes call it, and each gets the whole.
  Status gather(Session &session, std::byte *data) const;

private:
  void describe(Session &session, const fb::Program &program, const fb::Port &port);
  // For one local rank: visit(where a frame's port holds it, where the array does, bytes)
  template <typename Visit> void visitRuns(Session &session, unsigned local, Visit visit) const;

  const fb::Port *port_ = nullptr;
  unsigned frames_ = 1;
  unsigned parts_ = 1; // of the batch dimension: frames of data ranks
  size_t runs_ = 1;    // of each part
  Shape shape_;
  size_t bytes_ = 0;
};

} // namespace cleave::rt

#endif
