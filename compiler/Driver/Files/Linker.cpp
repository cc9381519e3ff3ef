#include "compiler/Driver/Files/Linker.h"

#include "compiler/Support/Error.h"
#include "compiler/Support/TemporaryFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace cleave;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

llvm::Expected<std::string> cleave::findRuntimeLibraries() {
  llvm::SmallVector<std::string> tried;
  auto holds = [&](llvm::StringRef root) {
    llvm::SmallString<256> directory(root), archive(root), needs(root);
    path::append(directory, "lib");
    path::append(archive, "lib", "libcleave_rt.a");
    path::append(needs, "lib", "cleave_rt.link");
    tried.push_back(directory.str().str());
    return fs::exists(archive) && fs::exists(needs);
  };
  if (auto home = llvm::sys::Process::GetEnv("CLEAVE_HOME"); home && !home->empty()) {
    if (holds(*home))
      return tried.back();
    return makeError("CLEAVE_HOME is " + *home + ", but " + tried.back() +
                     " does not hold libcleave_rt.a and cleave_rt.link; name the folder of an installation, or unset it");
  }
  static int anchor;
  std::string program = fs::getMainExecutable("cleave", &anchor);
  if (holds(path::parent_path(path::parent_path(program))))
    return tried.back();
  return makeError("cannot find libcleave_rt.a and cleave_rt.link in " + llvm::join(tried, " or ") +
                   "; set CLEAVE_HOME to the folder of the installation that holds lib/");
}

namespace {

// Returns the reasons in the linker's messages, each once: "undefined reference to `f'". Other lines say which function
// contains a reference, and that the driver has failed.
std::string reasons(llvm::StringRef log) {
  constexpr size_t kShown = 4;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::SetVector<llvm::StringRef> found;
  log.split(lines, '\n', -1, /*KeepEmpty=*/false);
  auto isReason = [](llvm::StringRef line) {
    for (const char *sign :
         {"undefined reference", "undefined symbol", "cannot find", "multiple definition", "duplicate symbol",
          "file not recognized", "file format", "No space left", "No such file", "relocation"})
      if (line.contains(sign))
        return true;
    return false;
  };
  for (llvm::StringRef line : lines) {
    if (!isReason(line))
      continue;
    // If many functions refer to a name, one reference is enough.
    size_t begin = line.find("undefined ");
    llvm::StringRef key = begin == llvm::StringRef::npos ? line : line.drop_front(begin);
    found.insert(key.trim());
  }
  if (found.empty())
    return lines.empty() ? "" : lines[0].trim().str(); // an unknown kind of message
  size_t shown = std::min(found.size(), kShown), more = found.size() - shown;
  return llvm::join(found.getArrayRef().take_front(shown), "; ") +
         (more ? "; and " + std::to_string(more) + " more" : "");
}

// Runs a program without output. If it fails, its own messages are added to the error.
llvm::Error run(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments) {
  auto log = TemporaryFile::create("cleave-link", "log");
  if (!log)
    return log.takeError();
  std::string message;
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, log->path(), log->path()};
  int result = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects, 0, 0, &message);
  if (auto words = llvm::MemoryBuffer::getFile(log->path()); words && result != 0)
    message += reasons((*words)->getBuffer());
  if (message.empty())
    message = (program + " ended with code " + llvm::Twine(result) +
               " and said nothing; is there room in the folder of temporary files ($TMPDIR or /tmp)?")
                  .str();
  return result == 0 ? llvm::Error::success() : makeError("linking failed: " + message);
}

} // namespace

llvm::Error cleave::linkArtefact(LinkKind kind, llvm::ArrayRef<std::string> objects, llvm::StringRef needs,
                                 llvm::StringRef output) {
  auto compiler = llvm::sys::findProgramByName("c++");
  if (!compiler)
    return makeError(
        "linking needs the C++ compiler driver 'c++', which is not on the path (Debian: apt-get install g++); "
        "--emit object needs none");
  // The partial file is beside the output, so that a rename gives it its name. The name is unique, because another
  // compilation may be linking at the same time.
  TemporaryFile partial = TemporaryFile::beside(output);
  llvm::SmallVector<std::string> flags = {*compiler, "-o", partial.path()};
  flags.append(objects.begin(), objects.end());
  if (kind == LinkKind::Object) {
    flags.append({"-r", "-nostdlib"});
  } else {
    auto libraries = findRuntimeLibraries();
    if (!libraries)
      return libraries.takeError();
    // Not -Wl,-rpath,PATH: a comma in the path would end it.
    flags.append({"-L" + *libraries, "-Xlinker", "-rpath", "-Xlinker", *libraries, "-Wl,--gc-sections"});
    // The C API is in one member of libcleave_rt.a. The objects of a shared library do not refer to it. A library uses
    // its own kernels and its own runtime, whatever another one of the same name has loaded globally (-Bsymbolic).
    if (kind == LinkKind::Shared)
      flags.append({"-shared", "-Wl,-u,cleave_session_create", "-Wl,-Bsymbolic"});
    else
      flags.push_back("-lcleave_main");
    flags.push_back("@" + *libraries + "/" + needs.str()); // the runtime, and the libraries that it needs
  }
  llvm::SmallVector<llvm::StringRef> arguments(flags.begin(), flags.end());
  if (llvm::Error error = run(*compiler, arguments))
    return error;
  return partial.keepAs(output);
}
