// Results that must be checked: a code, and one line that says what went wrong and where.
//
// No exception crosses a folder's border in the runtime, and only main() exits. A message says what, where, what was
// expected, and what to do. It is printed as it is.
#ifndef CLEAVE_RUNTIME_BASE_STATUS_H
#define CLEAVE_RUNTIME_BASE_STATUS_H

#include <string>
#include <utility>

namespace cleave::rt {

enum class Code {
  Ok,
  InvalidArgument, // the user's option, file or data
  NotFound,
  DataLoss, // a file is damaged or incomplete
  IoError,  // the operating system refused
  PeerLost, // another rank died or stopped answering
  OutOfMemory,
  Internal // a defect of Cleave
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status ok() { return {}; }
  bool isOk() const { return code_ == Code::Ok; }
  Code code() const { return code_; }
  const std::string &message() const { return message_; }

  // The same status with "context: " before its message. A status that is ok stays as it is.
  Status in(const std::string &context) && {
    if (!isOk())
      message_ = context + ": " + message_;
    return std::move(*this);
  }

private:
  Code code_ = Code::Ok;
  std::string message_;
};

inline Status invalidArgument(std::string m) { return {Code::InvalidArgument, std::move(m)}; }
inline Status notFound(std::string m) { return {Code::NotFound, std::move(m)}; }
inline Status dataLoss(std::string m) { return {Code::DataLoss, std::move(m)}; }
inline Status ioError(std::string m) { return {Code::IoError, std::move(m)}; }
inline Status peerLost(std::string m) { return {Code::PeerLost, std::move(m)}; }
inline Status internal(std::string m) { return {Code::Internal, std::move(m)}; }

} // namespace cleave::rt

// Returns the status of `expression` from the calling function if it is not ok.
#define CLEAVE_TRY(expression)                                                                                         \
  do {                                                                                                                 \
    if (::cleave::rt::Status cleaveStatus = (expression); !cleaveStatus.isOk())                                        \
      return cleaveStatus;                                                                                             \
  } while (false)

#endif
