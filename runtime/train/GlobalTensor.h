// A program's input or output as the caller of the C API sees it: the global batch in one array.
//
// Along the batch dimension (0) the array holds data rank after data rank, and within one, frame after frame; without a
// batch dimension it is what one rank holds, equal on all.
#ifndef CLEAVE_RUNTIME_TRAIN_GLOBALTENSOR_H
#define CLEAVE_RUNTIME_TRAIN_GLOBALTENSOR_H

#include "runtime/train/Session.h"

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
  void gather(Session &session, std::byte *data) const;

private:
  void describe(Session &session, const fb::Program &program, const fb::Port &port);
  size_t offset(Session &session, unsigned local, unsigned frame) const;

  const fb::Port *port_ = nullptr;
  unsigned frames_ = 1;
  Shape shape_;
  size_t bytes_ = 0;
};

} // namespace cleave::rt

#endif
