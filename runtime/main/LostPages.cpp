#include "runtime/main/LostPages.h"

#include <csignal>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace cleave::rt {
namespace {

std::string start; // of the message, set before the handler is installed

// Reads /proc/self/maps line by line. It calls only functions that a signal handler may call. loadedFile()
// (LoadedFile.h), which reads the same file, allocates memory.
class MapsReader {
public:
  MapsReader() : file_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}

  // A line without its end. Longer ones are cut. Returns false after the last one.
  bool next(std::string_view *line) {
    size_t size = 0;
    for (char c = 0; read(&c);) {
      if (c == '\n') {
        *line = {line_, size};
        return true;
      }
      if (size < sizeof line_)
        line_[size++] = c;
    }
    return false;
  }

private:
  bool read(char *c) {
    if (at_ == end_) {
      ssize_t got = file_ < 0 ? 0 : ::read(file_, block_, sizeof block_);
      at_ = 0;
      end_ = got > 0 ? static_cast<size_t>(got) : 0;
    }
    if (at_ == end_)
      return false;
    *c = block_[at_++];
    return true;
  }

  int file_;
  size_t at_ = 0, end_ = 0;
  char block_[1024], line_[5000];
};

// Takes a hexadecimal number and the character after it from the front of the text.
uintptr_t takeNumber(std::string_view *text) {
  uintptr_t number = 0;
  for (char c = ' '; !text->empty();) {
    c = text->front();
    text->remove_prefix(1);
    if (c >= '0' && c <= '9')
      number = number * 16 + static_cast<uintptr_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      number = number * 16 + static_cast<uintptr_t>(c - 'a' + 10);
    else
      break;
  }
  return number;
}

// A text of limited size, which is written by one call, so that the messages of several ranks do not mix.
class Message {
public:
  void add(std::string_view text) { size_ += text.copy(text_ + size_, sizeof text_ - size_); }
  // A terminal must not obey a name.
  void addName(std::string_view name) {
    size_t begin = size_;
    add(name);
    for (size_t i = begin; i < size_; ++i)
      if (auto c = static_cast<unsigned char>(text_[i]); c < ' ' || c == 0x7f)
        text_[i] = '?';
  }
  void write() const { static_cast<void>(!::write(STDERR_FILENO, text_, size_)); }

private:
  size_t size_ = 0;
  char text_[6000];
};

// Finds the path of the file that is mapped at the address.
bool findPath(const void *address, MapsReader *maps, std::string_view *path) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::string_view line; maps->next(&line);) {
    uintptr_t begin = takeNumber(&line), end = takeNumber(&line);
    size_t slash = line.find('/');
    *path = slash == std::string_view::npos ? std::string_view() : line.substr(slash);
    if (wanted >= begin && wanted < end)
      return !path->empty();
  }
  return false;
}

void handle(int signal, siginfo_t *info, void *) {
  if (info->si_code != BUS_ADRERR) {
    std::signal(signal, SIG_DFL); // a defect: when the instruction is repeated, the signal ends the process
    return;
  }
  MapsReader maps;
  std::string_view path;
  bool isFound = findPath(info->si_addr, &maps, &path);
  Message message;
  message.add(start);
  if (isFound) {
    message.add("'");
    message.addName(path);
    message.add("'");
  } else {
    message.add("a mapped file (data, weights or a checkpoint)");
  }
  message.add(" was truncated while in use, or can no longer be read (SIGBUS)");
  constexpr std::string_view kShared = "/dev/shm/"; // where MPI has its messages
  if (!isFound || path.substr(0, kShared.size()) == kShared)
    message.add("; under mpirun, /dev/shm may be full");
  message.add("\n");
  message.write();
  ::_exit(1);
}

} // namespace

void explainLostPages(const std::string &program) {
  start = "\n" + program + ": error: ";
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

} // namespace cleave::rt
