#include "test/cuda/emulated/nccl/Root.h"
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <netdb.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace cleave::emulated::nccl {

namespace {

constexpr uint64_t kMagic = 0x636c656176656964;
struct Question {
  uint64_t magic = kMagic;
  int64_t rank = 0;
};
struct Answer {
  uint64_t magic = kMagic;
  char id[128] = "";
};

bool split(const std::string &address, std::string &host, std::string &port) {
  size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size())
    return false;
  host = address.substr(0, colon);
  port = address.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return port.find_first_not_of("0123456789") == std::string::npos;
}

// Returns a socket for which `use` has succeeded, or -1 with errno.
template <class Use> int socketAt(const std::string &address, Use use) {
  std::string host, port;
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  errno = EINVAL;
  if (!split(address, host, port) || getaddrinfo(host.c_str(), port.c_str(), &hints, &list) != 0)
    return -1;
  int found = -1;
  for (addrinfo *each = list; each && found < 0; each = each->ai_next) {
    int fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && use(fd, *each)) {
      found = fd;
    } else if (fd >= 0) {
      int error = errno;
      close(fd);
      errno = error;
    }
  }
  freeaddrinfo(list);
  return found;
}

template <class T> bool get(int fd, T &value) { return recv(fd, &value, sizeof value, MSG_WAITALL) == sizeof value; }
template <class T> bool put(int fd, const T &value) {
  return send(fd, &value, sizeof value, MSG_NOSIGNAL) == sizeof value;
}

} // namespace

bool isAddress(const std::string &address) {
  std::string host, port;
  return split(address, host, port);
}

bool tellOthers(const std::string &address, const std::string &id, int others, std::string &why) {
  int listener = socketAt(address, [](int fd, const addrinfo &at) {
    int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return bind(fd, at.ai_addr, at.ai_addrlen) == 0 && listen(fd, 128) == 0;
  });
  if (listener < 0) {
    why = std::string("Call to bind failed: ") + strerror(errno);
    return false;
  }
  std::thread([listener, id, others] {
    for (int told = 0; told < others;) {
      int fd = accept(listener, nullptr, nullptr);
      if (fd < 0)
        break;
      Question question;
      Answer answer;
      id.copy(answer.id, sizeof answer.id - 1);
      told += get(fd, question) && question.magic == kMagic && put(fd, answer);
      close(fd);
    }
    close(listener);
  }).detach();
  return true;
}

// NCCL before 2.24 tries for about 20 s.
static int rootLimitSeconds() {
  const char *text = getenv("CLEAVE_EMULATED_NCCL_ROOT_LIMIT_S");
  return text ? atoi(text) : 20;
}

bool askRoot(const std::string &address, int rank, std::string &id, std::string &why) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(rootLimitSeconds());
  while (std::chrono::steady_clock::now() < end) {
    int fd = socketAt(address, [](int fd, const addrinfo &at) { return connect(fd, at.ai_addr, at.ai_addrlen) == 0; });
    if (fd < 0) {
      why = std::string("connect: ") + strerror(errno);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    Question question;
    question.rank = rank;
    Answer answer;
    bool isRoot = put(fd, question) && get(fd, answer) && answer.magic == kMagic;
    close(fd);
    id = answer.id;
    why = "who listens at " + address + " is no root of NCCL";
    return isRoot;
  }
  return false;
}

} // namespace cleave::emulated::nccl
