#include "dialects/Cleave/IR/Messages.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace cleave {

// Returns the first text that `read` finds in the parts of a location. The callee of a call comes before its caller.
static std::string findText(Location location, llvm::function_ref<std::string(Location)> read) {
  if (std::string text = read(location); !text.empty())
    return text;
  if (auto fused = llvm::dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string text = findText(part, read); !text.empty())
        return text;
  if (auto call = llvm::dyn_cast<CallSiteLoc>(location))
    for (Location part : {call.getCallee(), call.getCaller()})
      if (std::string text = findText(part, read); !text.empty())
        return text;
  return "";
}

std::string nodeNameOf(Location location) {
  return findText(location, [](Location part) {
    auto name = llvm::dyn_cast<NameLoc>(part);
    return name ? name.getName().str() : std::string();
  });
}

std::string placeOf(Location location) {
  if (std::string name = nodeNameOf(location); !name.empty())
    return name;
  return findText(location, [](Location part) {
    auto line = llvm::dyn_cast<FileLineColLoc>(part);
    return line ? (line.getFilename().getValue() + ":" + llvm::Twine(line.getLine()) + ":" +
                   llvm::Twine(line.getColumn()))
                      .str()
                : std::string();
  });
}

std::string describeType(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return stream << type, text;
  stream << tensor.getElementType();
  if (tensor.getRank() != 0) {
    stream << "[";
    llvm::interleaveComma(tensor.getShape(), stream);
    stream << "]";
  }
  return text;
}

std::string textOf(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (DiagnosticArgument &argument : diagnostic.getArguments())
    if (argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Type)
      stream << describeType(argument.getAsType());
    else
      argument.print(stream);
  return text;
}

std::string messageOf(Diagnostic &diagnostic) {
  std::string place = placeOf(diagnostic.getLocation());
  return place + (place.empty() ? "" : ": ") + textOf(diagnostic);
}

} // namespace cleave
