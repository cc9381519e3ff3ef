// `cleave bundle` collects the files with which a machine without Cleave can build programs of compiled models.
// cmake/CleaveBundle.cmake lists the sources of the runtime, and tools/bundle/build.sh builds them.
#include "compiler/Codegen/Host/ModelObject.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Files/Artefact.h"
#include "compiler/Driver/Files/Linker.h"
#include "compiler/Driver/Files/OutputPath.h"
#include "compiler/Driver/Files/WeightsImage.h"
#include "compiler/Support/Directories.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/InputFile.h"
#include "compiler/Support/StatusError.h"
#include "compiler/Support/TemporaryFile.h"
#include "compiler/Support/Usage.h"
#include "compiler/Target/Target.h"
#include "runtime/state/WeightStore.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <csignal>
#include <optional>

using namespace cleave;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;
using llvm::object::ObjectFile;

namespace {

struct Model {
  std::string object;  // the object file
  std::string name;    // part of the symbol's name
  std::string weights; // "gpt.o.weights/model.safetensors", or empty
  bool isHost;
};

// The file of weights beside an object, as the object names it. Both are empty if it has none.
struct WeightsBeside {
  std::string file, checksum;
};

// A source of the runtime, from one line of the list.
struct Source {
  llvm::StringRef part, destination;
  std::string file;
  llvm::StringRef options; // separated by tabs
};

// Returns the beginning of a text from a file.
std::string shortened(llvm::StringRef text) { return text.take_front(80).str() + (text.size() > 80 ? "..." : ""); }

// Returns the name after cleave_model_ of the only model that the object defines.
llvm::Expected<std::string> nameOfModel(const ObjectFile &object, llvm::StringRef file) {
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : object.symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name)
      return flags ? name.takeError() : flags.takeError();
    constexpr uint32_t kUndefined = llvm::object::SymbolRef::SF_Undefined, kGlobal = llvm::object::SymbolRef::SF_Global;
    if ((*flags & (kUndefined | kGlobal)) == kGlobal && name->consume_front(modelSymbol))
      names.push_back(name->str());
  }
  if (names.size() != 1)
    return makeError(file + ": defines " + llvm::Twine(names.size()) +
                     " models; expected an object of one, as `cleave compile --emit object` writes it");
  // The name becomes a file name in the bundle, and a part of build.sh's C++.
  auto isAllowed = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (names[0].empty() || !llvm::all_of(names[0], isAllowed))
    return makeError(file + ": its model has the name '" + shortened(names[0]) +
                     "'; expected letters, digits and '_', as `cleave compile --emit object` writes it. The object is "
                     "damaged or was edited; compile the model again");
  return names.front();
}

// True for "OBJECT.weights/model.safetensors" (WeightsImage.h), where OBJECT is the object's name at the compilation.
// So no other folder is read or written.
bool isWeightsFile(llvm::StringRef file) {
  llvm::StringRef object = file.split('/').first;
  return object.consume_back(".weights") && !object.empty() && file == weightsPathBeside(object);
}

llvm::Expected<WeightsBeside> weightsOf(const ObjectFile &object, llvm::StringRef file) {
  for (const llvm::object::SectionRef &section : object.sections()) {
    auto name = section.getName();
    if (!name)
      return name.takeError();
    if (*name != weightsSection)
      continue;
    auto contents = section.getContents();
    if (!contents)
      return contents.takeError();
    auto [weights, checksum] = contents->rtrim('\0').split('\0');
    if (!weights.empty() && !isWeightsFile(weights))
      return makeError(
          file + ": its weights are in '" + shortened(weights) +
          "'; expected NAME.weights/model.safetensors beside the object, as `cleave compile --emit object` "
          "writes it. The object is damaged or was edited; compile the model again");
    return WeightsBeside{weights.str(), checksum.str()};
  }
  return WeightsBeside();
}

std::string besides(llvm::StringRef file, llvm::StringRef name) {
  llvm::SmallString<256> result(path::parent_path(file));
  path::append(result, name);
  return result.str().str();
}

// Checks that the file of weights was written together with the object.
llvm::Error checkWeights(llvm::StringRef object, const WeightsBeside &weights) {
  if (weights.file.empty())
    return llvm::Error::success();
  std::string file = besides(object, weights.file);
  if (!fs::exists(file))
    return makeError(object + ": its weights are not beside it; expected " + file +
                     ", which `cleave compile` wrote with the object: copy the folder, too, or compile again");
  rt::SafeTensors tensors;
  return toError(rt::openWeightsBeside(file, weights.checksum.c_str(), &tensors).in(object.str()));
}

llvm::Expected<Model> readModel(llvm::StringRef file) {
  auto artefact = Artefact::open(file);
  if (!artefact)
    return artefact.takeError();
  auto bytes = readInputFile(file, "an object that `cleave compile --emit object` wrote");
  if (!bytes)
    return bytes.takeError();
  auto object = ObjectFile::createObjectFile(**bytes);
  if (!object || !(*object)->isRelocatableObject()) {
    llvm::consumeError(object.takeError());
    return makeError(file +
                     ": is a plan or a linked program; a bundle takes objects. Compile the model with --emit object");
  }
  auto name = nameOfModel(**object, file);
  if (!name)
    return name.takeError();
  auto weights = weightsOf(**object, file);
  if (!weights)
    return weights.takeError();
  if (llvm::Error error = checkWeights(file, *weights))
    return error;
  auto target = parseTarget(artefact->plan().target()->string_view());
  if (!target)
    return target.takeError();
  return Model{file.str(), *name, weights->file, (*target)->needsHostKernels()};
}

llvm::Expected<std::vector<Model>> readModels(llvm::ArrayRef<std::string> files) {
  std::vector<Model> models;
  llvm::StringMap<std::string> fileOf;
  for (const std::string &file : files) {
    auto model = readModel(file);
    if (!model)
      return model.takeError();
    if (auto [known, isNew] = fileOf.try_emplace(model->name, file); !isNew)
      return makeError(file + ": its model has the same name as that of " + known->second + ", '" + model->name +
                       "'; compile one of them under another name (-o NAME.o)");
    models.push_back(std::move(*model));
  }
  return models;
}

// Returns the lines of sources.txt. Their texts are owned by `list`.
llvm::Expected<std::vector<Source>> readSources(std::unique_ptr<llvm::MemoryBuffer> &list) {
  auto libraries = findRuntimeLibraries();
  if (!libraries)
    return libraries.takeError();
  llvm::SmallString<256> folder(path::parent_path(*libraries)), file;
  path::append(folder, "share", "cleave", "runtime");
  file = folder;
  path::append(file, "sources.txt");
  auto bytes = llvm::MemoryBuffer::getFile(file);
  if (!bytes)
    return makeError("cannot read the list of the runtime's sources, " + file + ": " + bytes.getError().message() +
                     "; it is part of an installation of the compiler");
  list = std::move(*bytes);
  std::vector<Source> sources;
  llvm::SmallVector<llvm::StringRef> lines;
  list->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    Source source;
    llvm::StringRef where;
    std::tie(source.part, line) = line.split('\t');
    std::tie(source.destination, line) = line.split('\t');
    std::tie(where, source.options) = line.split('\t');
    llvm::SmallString<256> whole(path::is_absolute(where) ? "" : folder.str());
    path::append(whole, where);
    source.file = whole.str().str();
    sources.push_back(std::move(source));
  }
  return sources;
}

// Blocks SIGHUP, SIGINT and SIGTERM while it lives. Code that copies checks isInterrupted() between files, and cleans
// up before it is destroyed.
class DeferredSignals {
public:
  DeferredSignals() {
    sigemptyset(&signals);
    for (int signal : {SIGHUP, SIGINT, SIGTERM})
      sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  }
  ~DeferredSignals() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  bool isInterrupted() const {
    sigset_t pending;
    ::sigpending(&pending);
    for (int signal : {SIGHUP, SIGINT, SIGTERM})
      if (sigismember(&pending, signal))
        return true;
    return false;
  }

private:
  sigset_t signals, before;
};

// A folder that is removed in the destructor, unless keepAs() was called.
class PartialFolder {
public:
  explicit PartialFolder(llvm::StringRef name) { place = uniquePath(name + ".partial-"); }
  ~PartialFolder() {
    if (!place.empty())
      fs::remove_directories(place);
  }
  llvm::Error copy(llvm::StringRef file, const llvm::Twine &name) const {
    if (signals.isInterrupted())
      return makeError("interrupted");
    llvm::SmallString<256> target = at(name);
    std::error_code code = makeDirectories(path::parent_path(target));
    if (!code)
      code = fs::copy_file(file, target);
    if (!code) // build.sh must stay executable
      if (auto permissions = fs::getPermissions(file))
        code = fs::setPermissions(target, *permissions | fs::owner_write);
    return code ? makeError("cannot copy " + file + " to " + target + ": " + code.message()) : llvm::Error::success();
  }
  llvm::Error write(llvm::StringRef text, const llvm::Twine &name) const {
    std::error_code code;
    llvm::raw_fd_ostream file(at(name), code);
    if (!code) {
      file << text;
      file.close();
      code = file.error();
      file.clear_error(); // a stream with an error would end the program
    }
    return code ? makeError(at(name) + ": cannot write: " + code.message()) : llvm::Error::success();
  }
  llvm::Error keepAs(llvm::StringRef name) {
    if (std::error_code code = fs::rename(place, name))
      return makeError(name + ": cannot write: " + code.message());
    place.clear();
    return llvm::Error::success();
  }

private:
  llvm::SmallString<256> at(const llvm::Twine &name) const {
    llvm::SmallString<256> result(place);
    path::append(result, name);
    return result;
  }
  DeferredSignals signals; // destroyed after the folder has been removed
  llvm::SmallString<256> place;
};

llvm::Error copyModels(const PartialFolder &folder, llvm::ArrayRef<Model> models) {
  std::string list;
  for (const Model &model : models) {
    if (llvm::Error error = folder.copy(model.object, "models/" + model.name + ".o"))
      return error;
    if (!model.weights.empty())
      if (llvm::Error error = folder.copy(besides(model.object, model.weights), "bin/" + model.weights))
        return error;
    list += model.name + "\t" + (model.isHost ? "host" : "device") + "\n";
  }
  return folder.write(list, "models/list.txt");
}

llvm::Error copySources(const PartialFolder &folder, llvm::ArrayRef<Source> sources, bool hasHost) {
  std::string list;
  for (const Source &source : sources) {
    if (source.part == "host" && !hasHost)
      continue;
    if (llvm::Error error = folder.copy(source.file, source.destination))
      return error;
    if (source.part == "file")
      continue;
    list +=
        (source.part + "\t" + source.destination + (source.options.empty() ? "" : "\t") + source.options + "\n").str();
  }
  return folder.write(list, "sources/list.txt");
}

} // namespace

llvm::Error cleave::bundle(const BundleRequest &request, llvm::raw_ostream &out) {
  llvm::StringRef output = llvm::StringRef(request.output).rtrim('/');
  if (output.empty() || fs::exists(output))
    return usageError("-o " + request.output, "is already there; name a folder that is not, or remove it");
  if (llvm::Error error = checkOutputPath(output))
    return error;
  auto models = readModels(request.objects);
  if (!models)
    return models.takeError();
  std::unique_ptr<llvm::MemoryBuffer> list;
  auto sources = readSources(list);
  if (!sources)
    return sources.takeError();
  bool hasHost = llvm::any_of(*models, [](const Model &model) { return model.isHost; });
  PartialFolder folder(output);
  if (llvm::Error error = copySources(folder, *sources, hasHost))
    return error;
  if (llvm::Error error = copyModels(folder, *models))
    return error;
  if (llvm::Error error = folder.keepAs(output))
    return error;
  for (const Model &model : *models)
    out << output << "/build.sh builds " << output << "/bin/" << model.name << "\n";
  return llvm::Error::success();
}
