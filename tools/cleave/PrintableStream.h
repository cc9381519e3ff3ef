// A stream for text in which names of models, plans and paths stand. They may contain characters that a terminal obeys.
// Each line is passed on as printable() writes it (Printable.h), so that no command has to think of it. The text has no
// control characters of its own except newlines. JSON must come with such characters escaped in its own way.
#ifndef CLEAVE_TOOLS_CLEAVE_PRINTABLESTREAM_H
#define CLEAVE_TOOLS_CLEAVE_PRINTABLESTREAM_H

#include "runtime/base/Printable.h"

#include "llvm/Support/raw_ostream.h"

#include <string>

namespace cleave {

class PrintableStream : public llvm::raw_ostream {
public:
  explicit PrintableStream(llvm::raw_ostream &under) : under_(under) { SetUnbuffered(); }
  ~PrintableStream() override { under_ << rt::printable(line_); }

private:
  void write_impl(const char *data, size_t size) override {
    written_ += size;
    line_.append(data, size);
    size_t begin = 0;
    for (size_t end; (end = line_.find('\n', begin)) != std::string::npos; begin = end + 1)
      under_ << rt::printable(std::string_view(line_).substr(begin, end - begin)) << '\n';
    line_.erase(0, begin);
  }
  uint64_t current_pos() const override { return written_; }

  llvm::raw_ostream &under_;
  std::string line_; // that has not ended yet
  uint64_t written_ = 0;
};

} // namespace cleave

#endif
