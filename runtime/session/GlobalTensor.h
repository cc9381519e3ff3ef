// A program's input or output as the caller of the C API sees it: the global batch in one array.
//
// Along the batch dimension, the array has the data ranks in order, and for each data rank its frames in order. A
// tensor without a batch dimension is equal on all ranks, and the array holds it once. If the batch is not the first
// dimension, the samples of a rank's frame are in several runs of the array. For example, x[3, batch, 4] has three
// runs, which are a whole global batch apart.
#ifndef CLEAVE_RUNTIME_SESSION_GLOBALTENSOR_H
#define CLEAVE_RUNTIME_SESSION_GLOBALTENSOR_H

#include "runtime/session/Session.h"

namespace cleave::rt {

class GlobalTensor {
public:
  // Finds `name` among the inputs (or outputs) of an entry program.
  static Status find(Session &session, const char *program, const char *name, bool output, GlobalTensor *result);
  // The same by index. Returns NotFound if the index is past the last one.
  static Status at(Session &session, const char *program, size_t index, bool output, GlobalTensor *result);

  const fb::Port &port() const { return *port_; }
  const Shape &shape() const { return shape_; }
  size_t bytes() const { return bytes_; }

  void scatter(Session &session, const std::byte *data) const;
  // All processes must call it, and each gets the whole tensor.
  Status gather(Session &session, std::byte *data) const;

private:
  void describe(Session &session, const fb::Program &program, const fb::Port &port);
  // Calls visit(run in the rank's port, offset of the run in the array, bytes) for each run of a local rank.
  template <typename Visit> void visitRuns(Session &session, unsigned local, Visit visit) const;

  const fb::Port *port_ = nullptr;
  unsigned frames_ = 1;
  unsigned parts_ = 1; // of the batch dimension: frames x data ranks
  size_t runs_ = 1;    // runs of each part
  Shape shape_;
  size_t bytes_ = 0;
};

} // namespace cleave::rt

#endif
