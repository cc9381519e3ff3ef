// Ranks as threads of one process.
//
//   LocalWorld world(2);
//   std::thread other([&] { use(world.communicator(1)); });
//   use(world.communicator(0));
//
// A message is copied once, from the sender's buffer to the receiver's: the sender shows where its bytes lie, the
// receiver takes them and says so. A rank that fails calls abort(); every other rank returns within 50 ms.
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
  // Owned by the world; rank r's is used by rank r's threads only.
  Communicator &communicator(int rank);

  struct Shared;

private:
  std::unique_ptr<Shared> shared_;
};

} // namespace cleave::rt

#endif
