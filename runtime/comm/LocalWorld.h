// Ranks as threads of one process.
//
//   LocalWorld world(2);
//   std::thread other([&] { use(world.communicator(1)); });
//   use(world.communicator(0));
//
// A message is copied once, from the sender's buffer to the receiver's: the sender publishes where its bytes are, and
// the receiver copies them and confirms it. A rank that fails calls abort(), and every other rank returns within 50 ms.
#ifndef CLEAVE_RUNTIME_COMM_LOCALWORLD_H
#define CLEAVE_RUNTIME_COMM_LOCALWORLD_H

#include "runtime/comm/Communicator.h"

#include <memory>

namespace cleave::rt {

class LocalWorld {
public:
  explicit LocalWorld(int ranks);
  ~LocalWorld();

  int size() const;
  // The world owns it. Only threads of that rank may use it.
  Communicator &communicator(int rank);

  struct Shared;

private:
  std::unique_ptr<Shared> shared_;
};

} // namespace cleave::rt

#endif
