#include "compiler/Codegen/CUDA/Ptxas.h"

#include "compiler/Support/Error.h"
#include "compiler/Support/TemporaryFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace cleave;

char PtxasTooOld::ID = 0;

static constexpr llvm::StringLiteral kEntry = ".visible .entry ";

static std::optional<std::string> findInstalled() {
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

struct Ended {
  bool isGood;
  std::string words; // the program's output, or the system's message if the program did not end by itself
};

} // namespace

static llvm::Expected<Ended> execute(llvm::StringRef program, llvm::ArrayRef<std::string> options) {
  auto log = TemporaryFile::create("cleave-ptxas", "log");
  if (!log)
    return log.takeError();
  llvm::SmallVector<llvm::StringRef> arguments = {program};
  arguments.append(options.begin(), options.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(log->path()),
                                                llvm::StringRef(log->path())};
  std::string message;
  int result = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects, 0, 0, &message);
  auto words = llvm::MemoryBuffer::getFile(log->path());
  std::string text = words ? (*words)->getBuffer().str() : "";
  return Ended{result == 0, message.empty() ? std::move(text) : std::move(message)};
}

static std::string chosenPtxas() { return llvm::sys::Process::GetEnv("CLEAVE_PTXAS").value_or(""); }

bool Ptxas::isOff() { return chosenPtxas() == "off"; }

llvm::Expected<std::optional<Ptxas>> Ptxas::find() {
  Ptxas found;
  if (isOff())
    return std::nullopt;
  if (std::string chosen = chosenPtxas(); !chosen.empty()) {
    auto onPath = llvm::sys::findProgramByName(chosen);
    found.program = onPath ? *onPath : chosen;
  } else if (auto installed = findInstalled()) {
    found.program = *installed;
  } else {
    return std::nullopt;
  }
  auto told = execute(found.program, {"--version"});
  if (!told)
    return told.takeError();
  if (!told->isGood)
    return makeError(found.program + " --version fails: " + llvm::StringRef(told->words).trim().split('\n').first +
                     "; expected NVIDIA's assembler. CLEAVE_PTXAS=FILE names another one, and CLEAVE_PTXAS=off "
                     "compiles without it");
  found.version = std::move(told->words);
  return found;
}

// Returns the number before `words` in `text`. 0 if they are missing, because ptxas leaves out what a kernel does not
// use.
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

std::string cleave::ptxasComplaint(llvm::StringRef log, llvm::StringRef ptx) {
  llvm::SmallVector<llvm::StringRef> lines;
  log.split(lines, '\n', -1, /*KeepEmpty=*/false);
  llvm::StringRef first = lines.empty() ? "it says nothing" : lines.front();
  for (llvm::StringRef line : llvm::reverse(lines))
    if (line.contains("error   :") || line.contains("fatal   :"))
      first = line;
  size_t number = 0;
  llvm::StringRef place = first.split(", line ").second; // "ptxas FILE, line 12; error   : ..."
  if (place.consumeInteger(10, number))
    return first.trim().str();
  llvm::StringRef entry;
  llvm::SmallVector<llvm::StringRef> texts;
  ptx.split(texts, '\n');
  for (llvm::StringRef text : llvm::ArrayRef(texts).take_front(number))
    if (text.consume_front(kEntry))
      entry = text.take_until([](char c) { return c == '('; });
  return (entry.empty() ? "" : "kernel '" + entry.str() + "': ") + "line " + std::to_string(number) + " of its PTX" +
         place.trim().str();
}

// Recognizes the messages of ptxas 11 to 13.
static bool isTooOld(llvm::StringRef log) {
  return log.contains("is not defined for option 'gpu-name'") || log.contains("Unsupported .version ");
}

llvm::Expected<Ptxas::Output> Ptxas::run(llvm::StringRef ptx, llvm::ArrayRef<std::string> options) const {
  auto source = TemporaryFile::create("cleave-ptxas", "ptx");
  if (!source)
    return source.takeError();
  auto result = TemporaryFile::create("cleave-ptxas", "cubin");
  if (!result)
    return result.takeError();
  if (llvm::Error error = source->write(ptx))
    return error;
  std::vector<std::string> arguments = options.vec();
  arguments.insert(arguments.end(), {"-o", result->path(), source->path()});
  auto told = execute(program, arguments);
  if (!told)
    return told.takeError();
  if (!told->isGood && isTooOld(told->words))
    return llvm::make_error<PtxasTooOld>(program + ": " + ptxasComplaint(told->words, ptx));
  auto bytes = llvm::MemoryBuffer::getFile(result->path(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  bool hasCode = told->isGood && bytes && (*bytes)->getBuffer().starts_with("\x7f" "ELF");
  if (!hasCode)
    return makeError(program + " makes no machine code of kernels: " +
                     (told->isGood ? "it wrote no ELF file" : ptxasComplaint(told->words, ptx)) +
                     "; CLEAVE_PTXAS=FILE names another one, and with CLEAVE_PTXAS=off the program has PTX alone");
  return Output{(*bytes)->getBuffer().str(), std::move(told->words)};
}

llvm::Expected<Ptxas::Code> Ptxas::assemble(llvm::StringRef ptx, llvm::StringRef chip,
                                            const std::set<std::string> &entries, const KernelCache *cache) const {
  std::vector<std::string> options = {"-v", ("-arch=" + chip).str()};
  for (const std::string &entry : entries)
    options.insert(options.end(), {"--entry", entry});
  // An entry of the cache has two texts: the output of ptxas, and then the code.
  std::string key = cache ? cache->key(ptx, {llvm::join(options, " "), version, 0, false}) : "";
  if (auto kept = cache ? cache->find(key) : std::nullopt) {
    llvm::StringRef rest = *kept;
    size_t bytes = 0;
    if (!rest.consumeInteger(10, bytes) && rest.size() > bytes + 1)
      return Code{rest.drop_front(bytes + 1).str(), parsePtxasLog(rest.substr(1, bytes))};
  }
  auto made = run(ptx, options);
  if (!made)
    return made.takeError();
  if (cache)
    cache->add(key, std::to_string(made->log.size()) + "\n" + made->log + made->cubin);
  return Code{std::move(made->cubin), parsePtxasLog(made->log)};
}

std::map<std::string, std::string> cleave::splitEntries(llvm::StringRef ptx) {
  size_t at = ptx.find(kEntry);
  llvm::StringRef head = ptx.take_front(at);
  std::map<std::string, std::string> found;
  while (at != llvm::StringRef::npos) {
    size_t next = ptx.find(kEntry, at + kEntry.size());
    llvm::StringRef text = ptx.slice(at, next);
    llvm::StringRef name = text.drop_front(kEntry.size()).take_until([](char c) { return c == '('; });
    // The text after the closing brace belongs to the next entry.
    found[name.str()] = (head + text.take_front(text.rfind('}') + 1) + "\n").str();
    at = next;
  }
  return found;
}

static std::string replaceAll(llvm::StringRef text, llvm::StringRef from, llvm::StringRef to) {
  std::string result;
  for (size_t at = 0;;) {
    size_t next = text.find(from, at);
    result += text.slice(at, next);
    if (next == llvm::StringRef::npos)
      return result;
    result += to;
    at = next + from.size();
  }
}

std::string cleave::textForSm90a(llvm::StringRef ptx, const std::set<std::string> &entries) {
  constexpr llvm::StringLiteral kForm = "_sm_90a", kOnly = "//sm_90a: ", kNot = "//not sm_90a";
  if (!ptx.contains(kOnly))
    return "";
  std::map<std::string, std::string> all = splitEntries(ptx);
  auto hasForm = [&](const std::string &name) { return all.count(name + kForm.str()) != 0; };
  if (llvm::none_of(entries, hasForm))
    return "";
  llvm::StringRef head = ptx.take_front(ptx.find(kEntry));
  size_t target = head.find(".target "), end = head.find_first_of(",\n", target);
  std::string result = (head.take_front(target) + ".target sm_90a" + head.substr(end)).str();
  for (const std::string &name : entries) {
    std::string form = hasForm(name) ? name + kForm.str() : name;
    llvm::SmallVector<llvm::StringRef> lines;
    std::string text = replaceAll(all[form], form, name);
    llvm::StringRef(text).drop_front(head.size()).trim('\n').split(lines, '\n');
    for (llvm::StringRef line : lines)
      if (!line.ends_with(kNot))
        result += replaceAll(line, kOnly, "") + "\n";
  }
  return result;
}
