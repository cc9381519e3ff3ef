#include "compiler/Codegen/CUDA/Ptxas.h"

#include "compiler/Support/Error.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace cleave;
namespace fs = llvm::sys::fs;

std::optional<std::string> cleave::findPtxas() {
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  llvm::SmallVector<std::string> roots;
  for (const char *variable : {"CUDA_PATH", "CUDA_HOME"})
    if (auto root = llvm::sys::Process::GetEnv(variable); root && !root->empty())
      roots.push_back(*root);
  roots.push_back("/usr/local/cuda");
  for (const std::string &root : roots)
    if (auto found = llvm::sys::findProgramByName("ptxas", {root + "/bin"}))
      return *found;
  return std::nullopt;
}

namespace {

// A file that is gone with its owner, or when a signal ends the program.
class ScratchFile {
public:
  static llvm::Expected<ScratchFile> create(llvm::StringRef suffix) {
    llvm::SmallString<128> path;
    if (std::error_code code = fs::createTemporaryFile("cleave-ptxas", suffix, path))
      return makeError("cannot make a temporary file for ptxas: " + code.message());
    llvm::sys::RemoveFileOnSignal(path);
    return ScratchFile(path);
  }
  llvm::StringRef path() const { return name; }

private:
  explicit ScratchFile(const llvm::SmallString<128> &path) : name(path), remover(path) {}
  llvm::SmallString<128> name;
  llvm::FileRemover remover;
};

} // namespace

// The number before `words` in `text`; 0 where they are not there, as ptxas leaves out what a kernel does not use.
static uint64_t numberBefore(llvm::StringRef text, llvm::StringRef words) {
  size_t at = text.find((" " + words).str());
  if (at == llvm::StringRef::npos)
    return 0;
  llvm::StringRef digits = text.take_front(at);
  digits = digits.take_back(digits.size() - (digits.find_last_not_of("0123456789") + 1));
  uint64_t number = 0;
  return digits.getAsInteger(10, number) ? 0 : number;
}

std::map<std::string, PtxasResources> cleave::parsePtxasLog(llvm::StringRef log) {
  constexpr llvm::StringLiteral kBegin = "Compiling entry function '";
  std::map<std::string, PtxasResources> found;
  for (size_t at = log.find(kBegin); at != llvm::StringRef::npos;) {
    llvm::StringRef rest = log.drop_front(at + kBegin.size());
    size_t next = rest.find(kBegin);
    llvm::StringRef about = rest.take_front(next);
    found[about.take_until([](char c) { return c == '\''; }).str()] = {
        numberBefore(about, "registers"), numberBefore(about, "bytes smem"), numberBefore(about, "bytes stack frame"),
        numberBefore(about, "bytes spill stores"), numberBefore(about, "bytes spill loads")};
    at = next == llvm::StringRef::npos ? next : at + kBegin.size() + next;
  }
  return found;
}

llvm::Expected<std::map<std::string, PtxasResources>> cleave::assemble(llvm::StringRef program, llvm::StringRef ptx,
                                                                       llvm::StringRef chip) {
  auto source = ScratchFile::create("ptx");
  if (!source)
    return source.takeError();
  auto log = ScratchFile::create("log");
  if (!log)
    return log.takeError();
  std::error_code code;
  llvm::raw_fd_ostream out(source->path(), code);
  out << ptx;
  out.close();
  if (code || out.has_error()) {
    if (!code)
      code = out.error();
    out.clear_error(); // or the stream would end the program
    return makeError("cannot write " + source->path() + ": " + code.message());
  }
  std::string architecture = ("-arch=" + chip).str(), message;
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, log->path(), log->path()};
  int result = llvm::sys::ExecuteAndWait(program, {program, "-v", architecture, "-o", "/dev/null", source->path()},
                                         std::nullopt, redirects, 0, 0, &message);
  auto words = llvm::MemoryBuffer::getFile(log->path());
  llvm::StringRef text = words ? (*words)->getBuffer() : llvm::StringRef();
  if (result != 0)
    return makeError(program + ": " + (message.empty() ? text.trim().split('\n').first.str() : message));
  return parsePtxasLog(text);
}

std::map<std::string, std::string> cleave::splitEntries(llvm::StringRef ptx) {
  constexpr llvm::StringLiteral kBegin = ".visible .entry ";
  size_t at = ptx.find(kBegin);
  llvm::StringRef head = ptx.take_front(at);
  std::map<std::string, std::string> found;
  while (at != llvm::StringRef::npos) {
    size_t next = ptx.find(kBegin, at + kBegin.size());
    llvm::StringRef text = ptx.slice(at, next);
    llvm::StringRef name = text.drop_front(kBegin.size()).take_until([](char c) { return c == '('; });
    // What follows the closing brace is about the next entry.
    found[name.str()] = (head + text.take_front(text.rfind('}') + 1) + "\n").str();
    at = next;
  }
  return found;
}
