#include "compiler/Import/ONNX/Importer.h"
#include "compiler/Import/ONNX/Emitter.h"
#include "compiler/Import/ONNX/File/Duplicates.h"
#include "compiler/Import/ONNX/File/ExportNotes.h"
#include "compiler/Import/ONNX/File/GraphHash.h"
#include "compiler/Import/ONNX/File/Metadata.h"
#include "compiler/Import/ONNX/File/ProbableBuffers.h"
#include "compiler/Import/ONNX/File/SharedStatistics.h"
#include "compiler/Import/ONNX/FunctionImporter.h"
#include "compiler/Import/ONNX/Interpreter.h"
#include "compiler/Import/ONNX/Operators/KnownOperators.h"
#include "compiler/Import/ONNX/Operators/OperatorSchemas.h"
#include "compiler/Import/ONNX/StateRoles.h"
#include "compiler/Import/ONNX/StaticOperands.h"
#include "compiler/Support/InputFile.h"
#include "compiler/Support/Usage.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Budget.h"
#include "dialects/Cleave/IR/Messages.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace cleave;
using namespace cleave::onnx_import;

// Erases ops without uses: transposes that became part of products, constants of evaluated arithmetic.
static void eraseDeadOps(mlir::func::FuncOp function) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (llvm::isa<ReadOp>(op) ? op.use_empty() : mlir::isOpTriviallyDead(&op))
      op.erase();
}

// Reports ops that compute with tensors without elements. The emitter replaces such tensors for most operators, but not
// for all.
static void reportEmptyTensors(mlir::func::FuncOp function, ErrorList &errors) {
  for (mlir::Operation &op : function.getBody().front()) {
    if (llvm::isa<ConstantOp, mlir::func::ReturnOp>(op))
      continue;
    auto empty = [](Value value) { return isEmpty(value); };
    auto operand = llvm::find_if(op.getOperands(), empty);
    auto result = llvm::find_if(op.getResults(), empty);
    if (operand == op.operand_end() && result == op.result_end())
      continue;
    Value value = operand != op.operand_end() ? Value(*operand) : Value(*result);
    std::string name = placeOf(op.getLoc());
    errors.add(name + (name.empty() ? "" : ": ") + "computes with a tensor of shape " + formatShape(shapeOf(value)) +
               ", which has no elements; give every dimension a size of at least 1");
  }
}

// Returns a message in the user's words: without "'cleave.max_pool' op", because the user's file has nodes. Returns ""
// for MLIR's summary of an error that was reported before.
static std::string messageOfNode(mlir::Diagnostic &diagnostic) {
  std::string text = messageOf(diagnostic);
  if (llvm::StringRef(text).ends_with("failed to infer returned types"))
    return "";
  size_t begin = text.find("'cleave."), end = text.find("' op ", begin);
  return begin == std::string::npos || end == std::string::npos ? text : text.erase(begin, end + 5 - begin);
}

// Verifies the module. Messages have the node's name, which is the location.
static llvm::Error verifyModule(mlir::ModuleOp module) {
  ErrorList errors;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (std::string message = messageOfNode(diagnostic); !message.empty())
      errors.add(message);
    return llvm::success();
  });
  if (llvm::failed(mlir::verify(module)) && errors.empty())
    errors.add("the imported module is not valid");
  return errors.take();
}

// Notes name the initializers of the file. Constants that the importer has computed (ConstantPool.h) have names that
// nobody knows.
static void removeUnused(const ModelFile &file, llvm::ArrayRef<std::string> names, const StaticUses &staticUses,
                         WeightMap &weights, std::vector<std::string> &notes) {
  llvm::StringSet<> unused, initializers;
  unused.insert_range(names);
  weights.filter([&](llvm::StringRef name) { return !unused.contains(name); });
  for (const onnx::TensorProto &tensor : file.proto.graph().initializer())
    initializers.insert(tensor.name());
  std::vector<std::string> fixed, rest;
  for (const std::string &name : names)
    if (initializers.contains(name))
      (staticUses.contains(name) ? fixed : rest).push_back(name);
  if (!fixed.empty())
    notes.push_back("initializers that decide shapes have the file's values for good: " + listNames(fixed, 8));
  if (!rest.empty())
    notes.push_back("initializers that nothing uses are left out: " + llvm::join(rest, ", "));
}

static std::vector<std::string> parameterNames(mlir::ModuleOp module) {
  std::vector<std::string> names;
  for (StateOp state : module.getOps<StateOp>())
    if (state.getRole() == Role::Parameter)
      names.push_back(llvm::cast<SegmentAttr>(state.getSegments()[0]).getName().str());
  return names;
}

// Notes parameters that are possibly not meant to be trained, unless the file declares them as parameters: probable
// buffers, and factors such as 0.5.
static void noteDoubtfulParameters(mlir::ModuleOp module, const WeightMap &weights, const ExportSignature &signature,
                                   const TensorUses &uses, std::vector<std::string> &notes) {
  std::vector<std::string> names, scalars;
  llvm::StringSet<> isScalar;
  for (StateOp state : module.getOps<StateOp>()) {
    std::string name = llvm::cast<SegmentAttr>(state.getSegments()[0]).getName().str();
    if (state.getRole() != Role::Parameter || state.getFrozen() ||
        signature.kindOf(name) == ExportSignature::Kind::Parameter)
      continue;
    names.push_back(name);
    bool isOfLayer = state.getTensorType().getRank() > 0 && uses.isOfLayer(name); // a layer with one unit
    if (state.getTensorType().getNumElements() == 1 && !isOfLayer)
      isScalar.insert(name);
  }
  llvm::StringSet<> buffers;
  buffers.insert_range(noteProbableBuffers(weights, names, uses, notes));
  for (const std::string &name : names)
    if (isScalar.contains(name) && !buffers.contains(name))
      scalars.push_back(name);
  if (!scalars.empty())
    notes.push_back("parameters of one element, which are trained too: " + listNames(scalars, 8) +
                    "; keep one as it is with --freeze NAME");
}

// Returns for example "node '/pool/MyPool' (MyPool)".
static std::string nodeOf(mlir::Operation *op) {
  std::string node = placeOf(op->getLoc());
  return node.empty() ? "an op '" + op->getName().getStringRef().str() + "'" : node;
}

// Adds one error for each op without a derivative, because an unknown gradient must not be taken for zero.
static void reportMissingGradients(mlir::ModuleOp module, llvm::ArrayRef<EndedGradient> missing, ErrorList &errors) {
  llvm::MapVector<mlir::Operation *, std::vector<std::string>> names;
  for (const EndedGradient &each : missing)
    names[each.op].push_back(each.parameter);
  const ShortPatterns patterns(parameterNames(module));
  for (const auto &[op, parameters] : names)
    errors.add(
        nodeOf(op) + ": " + quote(op->getName().getStringRef()) +
        " has no derivative, and parameters reach the loss through it: " + listNames(parameters, 8) +
        "; leave them as they are with --freeze " + patterns.of(parameters) +
        ", export the model with other operators in its place, or implement DifferentiableOpInterface if it is an "
        "op of yours");
}

// Notes parameters of the model's author whose gradient ends before the loss.
static void noteEnded(llvm::ArrayRef<EndedGradient> ended, llvm::StringRef what,
                      llvm::function_ref<bool(llvm::StringRef)> isOfAuthor, std::vector<std::string> &notes) {
  std::vector<std::string> names;
  for (const auto &[name, op] : ended)
    if (isOfAuthor(name))
      names.push_back(name + " at " + nodeOf(op));
  if (!names.empty())
    notes.push_back((what + listNames(names, 4)).str());
}

// Returns the operators of the default domain that the graph uses. This includes bodies of nodes, and the functions
// that the graph calls.
static llvm::StringSet<> usedOperators(const ModelFile &file) {
  llvm::StringSet<> used;
  llvm::SmallVector<const google::protobuf::RepeatedPtrField<onnx::NodeProto> *> open = {&file.proto.graph().node()};
  llvm::StringMap<const onnx::FunctionProto *> uncalled = file.functions;
  while (!open.empty())
    for (const onnx::NodeProto &node : *open.pop_back_val()) {
      if (canonicalDomain(node.domain()).empty())
        used.insert(node.op_type());
      if (auto called = uncalled.find(functionKey(node)); called != uncalled.end()) {
        open.push_back(&called->second->node());
        uncalled.erase(called);
      }
      for (const onnx::AttributeProto &attribute : node.attribute()) {
        open.push_back(&attribute.g().node());
        for (const onnx::GraphProto &body : attribute.graphs())
          open.push_back(&body.node());
      }
    }
  return used;
}

// Notes functions in the standard's own domain that the graph calls. The standard lets programs choose whether to use
// the function, so readers of the file should know.
static void noteStandardFunctions(const ModelFile &file, std::vector<std::string> &notes) {
  if (file.proto.functions().empty())
    return;
  int64_t opset = file.opsets.lookup("");
  llvm::StringSet<> used = usedOperators(file), noted; // overloads of a function have one note
  for (const onnx::FunctionProto &function : file.proto.functions()) {
    bool isCalled = canonicalDomain(function.domain()).empty() && used.contains(function.name());
    if (!isCalled || !OperatorSchema::find(function.name(), opset) || !noted.insert(function.name()).second)
      continue;
    onnx::NodeProto call;
    call.set_op_type(function.name());
    bool isTaken = isStandardOperator({&call, &file.opsets});
    notes.push_back("function " + quote(function.name()) + " has the name of a standard operator" +
                    (isTaken ? ", which is computed in its place, as onnxruntime does it"
                             : " that is not supported, so that its body is computed; onnxruntime takes the operator") +
                    ". If the file means the body, give the function a domain of its own");
  }
}

namespace {

// Imports a graph whose functions have been inlined. Each step relies on the steps before it, and the import ends at
// the first step that fails.
class GraphImport {
public:
  GraphImport(const ModelFile &file, const ImportOptions &options, TensorReader &reader,
              std::shared_ptr<const FlatGraph> graph, ImportedModel &model)
      : file(file), options(options), reader(reader), graph(std::move(graph)), uses(*this->graph), model(model),
        module(*model.module), symbols(module), exported(readExportSignature(file.proto)) {}

  llvm::Error run() {
    if (llvm::Error error = bindNames())
      return error;
    if (llvm::Error error = importFunctions())
      return error;
    if (llvm::Error error = checkFunctions())
      return error;
    if (llvm::Error error = refineStates())
      return error;
    addNotes();
    return llvm::Error::success();
  }

private:
  llvm::Error bindNames();
  llvm::Error importFunctions();
  llvm::Error checkFunctions();
  llvm::Error refineStates();
  void addNotes();
  void addTrainingNotes();
  bool isOfAuthor(llvm::StringRef name) const;

  const ModelFile &file;
  const ImportOptions &options;
  TensorReader &reader;
  std::shared_ptr<const FlatGraph> graph;
  TensorUses uses;
  ImportedModel &model;
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  ExportSignature exported;
  ErrorList errors;
  // Results of the steps.
  Signature signature;
  NamedBindings tensors;
  mlir::func::FuncOp function; // @model
  StaticUses staticUses;
  RefinedStateRoles roles;
};

// Binds the names of inputs and initializers.
llvm::Error GraphImport::bindNames() {
  if (!exported.form.empty() && !exported.isTrainingForm())
    errors.add("the file's metadata has " + llvm::Twine(kFormKey) + " = " + quote(exported.form) + "; expected " +
               quote(kTrainingForm) + " or no such entry: export the model again, or remove the entry");
  reportUnknownOperators(*graph, errors);
  forEachNode(*graph,
              [&](const onnx::NodeProto &node) { model.hasBatchNorm |= node.op_type() == "BatchNormalization"; });
  model.graphHash = graphHash(*graph);
  signature = bindSignature(module.getContext(), file, options, errors);
  tensors = importInitializers({file, *graph, exported, options, reader, symbols, model.weights, model.notes, errors});
  return errors.take();
}

llvm::Error GraphImport::importFunctions() {
  Budget &budget = Budget::of(module.getContext());
  ConstantPool constants(symbols, model.weights);
  auto decisions = std::make_shared<Decisions>(Decisions{graph, signature.globalBatch, {}});
  model.decisions = decisions;
  ImportJob job{file,          *graph,      signature,          tensors, options, symbols,   constants,
                model.weights, model.notes, model.guessedBatch, errors,  reader,  *decisions};
  llvm::StringSet<> keptNorms = findKeptNorms(*graph, exported);
  function = importFunction(job, "model", {options.train, options.batchNormGroups, options.train, &keptNorms});
  if (options.train && errors.empty() && !budget.isExhausted())
    importFunction(job, "model.eval", {/*training=*/false, 1, /*inTrainedModule=*/true});
  // The import stopped when the budget was exhausted. Errors in `errors` are then about nodes that were left out.
  if (auto refusal = budget.refusal())
    return makeError(*refusal);
  return errors.take();
}

llvm::Error GraphImport::checkFunctions() {
  for (auto each : module.getOps<mlir::func::FuncOp>())
    eraseDeadOps(each);
  for (auto each : module.getOps<mlir::func::FuncOp>())
    if (errors.empty())
      reportEmptyTensors(each, errors);
  if (!errors.empty())
    return errors.take();
  return verifyModule(module);
}

// Finds initializers that are no parameters after all, and parameters that cannot be trained.
llvm::Error GraphImport::refineStates() {
  staticUses = takeStaticUses(module);
  roles = refineStateRoles(module, function, [&](llvm::StringRef name) { return isOfAuthor(name); });
  if (options.train) {
    reportMissingGradients(module, roles.missing, errors);
    reportTrainedSizes(module, staticUses, errors);
  }
  if (!errors.empty())
    return errors.take();
  removeUnused(file, roles.unused, staticUses, model.weights, model.notes);
  return llvm::Error::success();
}

// True if the name is probably that of a parameter of the model's author, not of a constant of the exporter.
bool GraphImport::isOfAuthor(llvm::StringRef name) const {
  const WeightTensor *tensor = model.weights.find(name);
  return exported.kindOf(name) == ExportSignature::Kind::Parameter ||
         (!isExporterName(name) && !(tensor && !reasonForBuffer(name.str(), *tensor, uses).empty()));
}

void GraphImport::addNotes() {
  noteStandardFunctions(file, model.notes);
  if (!signature.batchGuess.empty())
    model.notes.push_back(signature.batchGuess);
  if (options.train)
    addTrainingNotes();
  else
    noteTrainingForm(file, *graph, model.notes);
}

void GraphImport::addTrainingNotes() {
  auto ofAuthor = [&](llvm::StringRef name) { return isOfAuthor(name); };
  noteEnded(roles.decided, "not trained, because the gradient ends at a decision or a detach(): ", ofAuthor,
            model.notes);
  noteEnded(roles.zero,
            "the gradient is 0, because it ends where the model rounds; weight decay alone changes them: ", ofAuthor,
            model.notes);
  noteExport(file, *graph, exported, options.batchNormGroups == 0, model.notes, model.warnings);
  noteDoubtfulParameters(module, model.weights, exported, uses, model.notes);
  noteDuplicates(model.weights, parameterNames(module), embeddingTables(*graph), model.notes);
}

} // namespace

static llvm::Error importGraph(const ModelFile &file, const ImportOptions &options, TensorReader &reader,
                               ImportedModel &model) {
  Budget &budget = Budget::of(model.module->getContext());
  auto flat = flattenGraph(file, file.proto.graph(), {file.opsets, [](llvm::StringRef) { return false; }, 0}, budget);
  if (!flat)
    return flat.takeError();
  auto graph = std::make_shared<FlatGraph>(std::move(*flat));
  shareStatistics(*graph);
  model.weights.own(graph); // it holds large constants of inlined nodes
  return GraphImport(file, options, reader, graph, model).run();
}

struct cleave::ModelSource {
  std::unique_ptr<ModelFile> file;
  size_t bytes;     // of the file
  std::string path; // empty: it came from memory
};

// Adds the file's name to each error, except to errors that name an option.
static llvm::Error locateErrors(llvm::Error errors, llvm::StringRef path) {
  llvm::Error located = llvm::Error::success();
  llvm::handleAllErrors(std::move(errors), [&](std::unique_ptr<llvm::ErrorInfoBase> one) {
    bool isWhole = path.empty() || one->isA<UsageError>();
    llvm::Error line = isWhole ? llvm::Error(std::move(one)) : makeError(path + ": " + one->message());
    located = llvm::joinErrors(std::move(located), std::move(line));
  });
  return located;
}

static llvm::Expected<std::shared_ptr<const ModelSource>> readSource(llvm::StringRef bytes, llvm::StringRef directory,
                                                                     llvm::StringRef path) {
  auto file = parseModel(bytes, directory);
  if (!file)
    return locateErrors(file.takeError(), path);
  return std::make_shared<const ModelSource>(ModelSource{std::move(*file), bytes.size(), path.str()});
}

static llvm::Expected<ImportedModel> importSource(mlir::MLIRContext &context, std::shared_ptr<const ModelSource> source,
                                                  const ImportOptions &options) {
  ImportedModel model;
  Interpreter::loadDialects(context);
  mlir::OpBuilder builder(&context);
  model.module = mlir::ModuleOp::create(builder.getUnknownLoc());
  (*model.module)->setAttr(kLevelAttr, builder.getStringAttr("model"));
  Budget::of(&context).begin(source->bytes, options.budget);
  ExternalData external(source->file->directory, source->path);
  TensorReader reader(&context, external);
  if (llvm::Error error = importGraph(*source->file, options, reader, model))
    return locateErrors(std::move(error), source->path);
  // Weights point into these files and buffers.
  for (auto &mapped : external.files()) {
    model.externalFiles.push_back(mapped->getBufferIdentifier().str());
    model.weights.own(mapped);
  }
  for (auto &made : reader.storage())
    model.weights.own(made);
  model.weights.own(source);
  model.source = std::move(source);
  return model;
}

llvm::Expected<ImportedModel> cleave::importONNXFromMemory(mlir::MLIRContext &context, llvm::StringRef bytes,
                                                           llvm::StringRef directory, const ImportOptions &options) {
  auto source = readSource(bytes, directory, /*path=*/"");
  if (!source)
    return source.takeError();
  return importSource(context, std::move(*source), options);
}

llvm::Expected<ImportedModel> cleave::importONNX(mlir::MLIRContext &context, llvm::StringRef path,
                                                 const ImportOptions &options) {
  auto buffer = readInputFile(path, "an ONNX model");
  if (!buffer)
    return buffer.takeError();
  llvm::StringRef directory = llvm::sys::path::parent_path(path);
  auto source = readSource((*buffer)->getBuffer(), directory.empty() ? "." : directory, path);
  if (!source)
    return source.takeError();
  buffer->reset(); // the parsed message has copies of all bytes
  return importSource(context, std::move(*source), options);
}

llvm::Expected<ImportedModel> cleave::importAgain(mlir::MLIRContext &context, const ImportedModel &model,
                                                  const ImportOptions &options) {
  auto again = importSource(context, model.source, options);
  // Code after this import gets a budget of its own, independent of what this import has used.
  Budget::of(&context).begin(model.source->bytes, options.budget);
  return again;
}
