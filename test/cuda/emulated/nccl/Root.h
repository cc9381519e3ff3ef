// How ranks find each other that NCCL_COMM_ID ("node:port") alone has told of each other: rank 0 listens there and
// tells all others the id of the communicator. As with NCCL, the others try for a while until somebody listens: 20 s,
// or CLEAVE_EMULATED_NCCL_ROOT_LIMIT_S.
#pragma once
#include <string>

namespace cleave::emulated::nccl {

// Ids of this kind begin so; the address follows.
constexpr const char *kAddressedId = "cleave-emulated-at-";

// Whether the text is an address with a port.
bool isAddress(const std::string &address);
// Rank 0: from now on a thread tells `id` to `others` ranks. False, with a reason, where it cannot listen there.
bool tellOthers(const std::string &address, const std::string &id, int others, std::string &why);
// The others: false, with a reason, where nobody listens within the limit, or it is no rank 0.
bool askRoot(const std::string &address, int rank, std::string &id, std::string &why);

} // namespace cleave::emulated::nccl
