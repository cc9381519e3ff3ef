#include "compiler/Import/ONNX/Importer.h"
#include "compiler/Import/ONNX/Duplicates.h"
#include "compiler/Import/ONNX/Emitter.h"
#include "compiler/Import/ONNX/FunctionImporter.h"
#include "compiler/Import/ONNX/Interpreter.h"
#include "compiler/Import/ONNX/Roles.h"
#include "compiler/Support/Usage.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace cleave;
using namespace cleave::onnx_import;

// Ops that nothing uses: transposes folded into products, constants of evaluated arithmetic.
static void eraseDeadOps(mlir::func::FuncOp function) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (llvm::isa<ReadOp>(op) ? op.use_empty() : mlir::isOpTriviallyDead(&op))
      op.erase();
}

// The emitter leaves no tensor without elements where one is computed with. These operators do not go without.
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
    auto name = llvm::dyn_cast<mlir::NameLoc>(op.getLoc());
    errors.add((name ? name.getName().getValue() + ": " : llvm::Twine("")) + "computes with a tensor of shape " +
               formatShape(shapeOf(value)) + ", which has no elements; give every dimension a size of at least 1");
  }
}

// Verifier messages with the node's name, which is the location.
static llvm::Error verifyModule(mlir::ModuleOp module) {
  ErrorList errors;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    auto name = llvm::dyn_cast<mlir::NameLoc>(diagnostic.getLocation());
    errors.add((name ? name.getName().getValue() + ": " : llvm::Twine("")) + llvm::Twine(diagnostic.str()));
    return llvm::success();
  });
  if (llvm::failed(mlir::verify(module)) && errors.empty())
    errors.add("the imported module is not valid");
  return errors.take();
}

// A graph whose batch norm is in inference form, and whose dropout is gone with it, trains, but not as its author
// meant. One without either (most language models) says nothing about its form.
static void noteTrainingForm(const FlatGraph &graph, std::vector<std::string> &notes) {
  auto has = [&](llvm::StringRef type) {
    return llvm::any_of(graph.nodes, [&](const FlatNode &node) { return node.proto->op_type() == type; });
  };
  if (has("BatchNormalization") && !has("Dropout"))
    notes.push_back("the graph has no Dropout; if the model has, export it in training form (examples/export)");
}

static void removeUnused(llvm::ArrayRef<std::string> names, WeightMap &weights, std::vector<std::string> &notes) {
  weights.filter([&](llvm::StringRef name) { return !llvm::is_contained(names, name); });
  if (!names.empty())
    notes.push_back("initializers that nothing uses are left out: " + llvm::join(names, ", "));
}

static std::vector<std::string> parameterNames(mlir::ModuleOp module) {
  std::vector<std::string> names;
  for (StateOp state : module.getOps<StateOp>())
    if (state.getRole() == Role::Parameter)
      names.push_back(llvm::cast<SegmentAttr>(state.getSegments()[0]).getName().str());
  return names;
}

// A factor such as 0.5 in the file is a parameter to us as long as nobody says otherwise.
static void noteScalarParameters(mlir::ModuleOp module, std::vector<std::string> &notes) {
  std::vector<std::string> names;
  for (StateOp state : module.getOps<StateOp>())
    if (state.getRole() == Role::Parameter && !state.getFrozen() && state.getTensorType().getNumElements() == 1)
      names.push_back(llvm::cast<SegmentAttr>(state.getSegments()[0]).getName().str());
  if (!names.empty())
    notes.push_back("parameters of one element, which are trained too: " + llvm::join(names, ", ") +
                    "; keep one as it is with --freeze NAME");
}

static void noteNewerOpset(const ModelFile &file, std::vector<std::string> &notes) {
  int64_t opset = file.opsets.lookup("");
  if (opset > kMaxOpset)
    notes.push_back("the file uses opset " + std::to_string(opset) + "; the newest known is " +
                    std::to_string(kMaxOpset) + ", whose definitions are applied");
}

static llvm::Error importGraph(const ModelFile &file, const ImportOptions &options, TensorReader &reader,
                               ImportedModel &model) {
  auto graph = flattenGraph(file, file.proto.graph(), [](llvm::StringRef) { return false; });
  if (!graph)
    return graph.takeError();
  ErrorList errors;
  reportUnknownOperators(*graph, errors);
  mlir::ModuleOp module = *model.module;
  Signature signature = bindSignature(module.getContext(), file, options, errors);
  mlir::SymbolTable symbols(module);
  NamedSlots tensors = importInitializers(file, *graph, options, reader, symbols, model.weights, model.notes, errors);
  if (!errors.empty())
    return errors.take();

  ConstantPool constants(symbols, model.weights);
  ImportJob job{file, *graph, signature, tensors, options, symbols, constants, model.notes, errors};
  auto function = importFunction(job, "model", {options.train, options.batchNormGroups});
  if (options.train && errors.empty())
    importFunction(job, "model.eval", {/*training=*/false, 1});
  if (!errors.empty())
    return errors.take();
  for (auto each : module.getOps<mlir::func::FuncOp>())
    eraseDeadOps(each);
  for (auto each : module.getOps<mlir::func::FuncOp>())
    if (errors.empty())
      reportEmptyTensors(each, errors);
  if (!errors.empty())
    return errors.take();
  if (llvm::Error error = verifyModule(module))
    return error;
  removeUnused(refineRoles(module, function), model.weights, model.notes);
  noteNewerOpset(file, model.notes);
  if (options.train) {
    noteTrainingForm(*graph, model.notes);
    noteScalarParameters(module, model.notes);
  }
  noteDuplicates(model.weights, parameterNames(module), model.notes);
  return llvm::Error::success();
}

llvm::Expected<ImportedModel> cleave::importONNXFromMemory(mlir::MLIRContext &context, llvm::StringRef bytes,
                                                           llvm::StringRef directory, const ImportOptions &options) {
  auto file = parseModel(bytes, directory);
  if (!file)
    return file.takeError();
  ImportedModel model;
  Interpreter::loadDialects(context);
  mlir::OpBuilder builder(&context);
  model.module = mlir::ModuleOp::create(builder.getUnknownLoc());
  (*model.module)->setAttr("cleave.level", builder.getStringAttr("model"));
  ExternalData external(directory.str());
  TensorReader reader(&context, external);
  if (llvm::Error error = importGraph(**file, options, reader, model))
    return error;
  // Weights point into these.
  for (auto &mapped : external.files()) {
    model.externalFiles.push_back(mapped->getBufferIdentifier().str());
    model.weights.own(mapped);
  }
  for (auto &made : reader.storage())
    model.weights.own(made);
  model.weights.own(std::shared_ptr<ModelFile>(std::move(*file)));
  return model;
}

llvm::Expected<ImportedModel> cleave::importONNX(mlir::MLIRContext &context, llvm::StringRef path,
                                                 const ImportOptions &options) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError(path + ": cannot be read: " + buffer.getError().message());
  llvm::StringRef directory = llvm::sys::path::parent_path(path);
  auto model = importONNXFromMemory(context, (*buffer)->getBuffer(), directory.empty() ? "." : directory, options);
  if (model)
    return model;
  // Every line says which file, or which option is wrong.
  llvm::Error located = llvm::Error::success();
  llvm::handleAllErrors(model.takeError(), [&](std::unique_ptr<llvm::ErrorInfoBase> one) {
    llvm::Error line = one->isA<UsageError>() ? llvm::Error(std::move(one)) : makeError(path + ": " + one->message());
    located = llvm::joinErrors(std::move(located), std::move(line));
  });
  return located;
}
