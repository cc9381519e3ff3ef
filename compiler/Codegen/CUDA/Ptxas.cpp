#include "compiler/Codegen/CUDA/Ptxas.h"

#include "compiler/Support/Error.h"
#include "compiler/Support/TemporaryFile.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace cleave;

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
  auto source = TemporaryFile::create("cleave-ptxas", "ptx");
  if (!source)
    return source.takeError();
  auto log = TemporaryFile::create("cleave-ptxas", "log");
  if (!log)
    return log.takeError();
  if (llvm::Error error = source->write(ptx))
    return error;
  std::string architecture = ("-arch=" + chip).str(), message;
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(log->path()),
                                                llvm::StringRef(log->path())};
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
