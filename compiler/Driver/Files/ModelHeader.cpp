#include "compiler/Driver/Files/ModelHeader.h"

#include "compiler/Support/StatusError.h"
#include "compiler/Support/Usage.h"
#include "runtime/base/AtomicFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace cleave;

std::string cleave::modelIdentifier(llvm::StringRef output) {
  std::string name = llvm::sys::path::stem(output).str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name.empty() || llvm::isDigit(name.front()) ? "_" + name : name;
}

std::string cleave::modelHeaderPath(llvm::StringRef output) {
  llvm::SmallString<256> path(output);
  llvm::sys::path::replace_extension(path, "h");
  return path.str().str();
}

static constexpr llvm::StringLiteral kFirstLine = "/* Written by `cleave compile`. */\n";

llvm::Error cleave::checkModelHeader(llvm::StringRef output) {
  std::string path = modelHeaderPath(output);
  auto there = llvm::MemoryBuffer::getFile(path);
  if (!there || (*there)->getBuffer().starts_with(kFirstLine))
    return llvm::Error::success();
  return usageError("-o " + output, "the C header goes to '" + path +
                                        "', which is a file that `cleave compile` has not written; move it away, or "
                                        "give another name");
}

llvm::Error cleave::writeModelHeader(llvm::StringRef output) {
  std::string name = modelIdentifier(output), guard = "CLEAVE_MODEL_" + llvm::StringRef(name).upper() + "_H";
  std::string text = kFirstLine.str() + "#ifndef " + guard + "\n#define " + guard +
                     "\n#include \"cleave/model.h\"\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
                     "extern const cleave_model cleave_model_" +
                     name + ";\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return toError(rt::writeFileAtomically(modelHeaderPath(output), {text.data(), text.size()}));
}
