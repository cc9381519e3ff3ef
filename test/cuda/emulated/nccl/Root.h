// How ranks find each other if they know only NCCL_COMM_ID ("node:port"). Rank 0 listens there, and tells all others
// the id of the communicator. As with NCCL, the others try until somebody listens, for at most 20 s, or
// CLEAVE_EMULATED_NCCL_ROOT_LIMIT_S.
#pragma once
#include <string>

namespace cleave::emulated::nccl {

// Ids of this kind begin with this text. The address follows.
constexpr const char *kAddressedId = "cleave-emulated-at-";

// True if the text is an address with a port.
bool isAddress(const std::string &address);
// For rank 0. Starts a thread that tells `id` to `others` ranks. Returns false and a reason if it cannot listen there.
bool tellOthers(const std::string &address, const std::string &id, int others, std::string &why);
// For the other ranks. Returns false and a reason if nobody listens within the limit, or if the listener is no rank 0.
bool askRoot(const std::string &address, int rank, std::string &id, std::string &why);

} // namespace cleave::emulated::nccl
