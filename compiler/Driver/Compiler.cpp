#include "compiler/Driver/Compiler.h"

#include "compiler/Codegen/Host/KernelCache.h"
#include "compiler/Driver/Batch.h"
#include "compiler/Driver/BatchNorm.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Files/ArtefactWriter.h"
#include "compiler/Driver/Files/InputGuard.h"
#include "compiler/Driver/Files/ModelHeader.h"
#include "compiler/Driver/Files/OutputPath.h"
#include "compiler/Driver/Files/WeightsImage.h"
#include "compiler/Driver/Files/WrittenFiles.h"
#include "compiler/Driver/IdleOptions.h"
#include "compiler/Driver/KernelDump.h"
#include "compiler/Driver/Lowering.h"
#include "compiler/Driver/Memory/MemoryLimit.h"
#include "compiler/Driver/Memory/PlanTrial.h"
#include "compiler/Driver/Memory/ShardingGain.h"
#include "compiler/Driver/Memory/StageFit.h"
#include "compiler/Driver/Model/BatchNormGroups.h"
#include "compiler/Driver/Model/InputNeeds.h"
#include "compiler/Driver/Model/LossProbe.h"
#include "compiler/Driver/Model/SampleChecks.h"
#include "compiler/Driver/Model/Ties.h"
#include "compiler/Driver/PhaseRunner.h"
#include "compiler/Driver/PipelineRequest.h"
#include "compiler/Driver/PlanningRequest.h"
#include "compiler/Driver/Plugins.h"
#include "compiler/Driver/Report/PredictedStep.h"
#include "compiler/Import/ONNX/Importer.h"
#include "compiler/Planning/Build/PlanWriter.h"
#include "compiler/Support/InputFile.h"
#include "compiler/Support/StatusError.h"
#include "compiler/Support/TemporaryFile.h"
#include "compiler/Support/Usage.h"
#include "compiler/Target/Target.h"
#include "compiler/Training/Loss/LossTerms.h"
#include "compiler/Training/Precision/Precision.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Plan/IR/Plan.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Printable.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/RankKinds.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"

using namespace cleave;

namespace {

// Writes a file. llvm::writeToOutput would end the program if the disk is full.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes) {
  return toError(rt::writeFileAtomically(path.str(), {bytes.data(), bytes.size()}));
}

// Converts the options for the importer. Fails if the precision or the global batch is invalid.
llvm::Expected<ImportOptions> importOptionsOf(const CompileOptions &options) {
  auto precision = parsePrecision(options.precision);
  if (!precision)
    return usageError("--precision", llvm::toString(precision.takeError()));
  ImportOptions import;
  for (const auto &[name, size] : options.dims)
    import.dims[name] = size;
  import.train = options.train;
  import.budget = options.budget;
  import.lossOutput = options.lossOutput;
  import.loss = options.loss;
  import.ignoredLabel = options.ignoredLabel;
  import.lossClassDim = options.lossClassDim;
  import.dataRanks = options.dataRanks();
  import.batchNormGroups = parseBatchNorm(options.batchNorm).groups(options.dataRanks());
  import.buffers = options.buffers;
  import.freeze = options.freeze;
  import.init = options.init;
  import.tie = options.tie;
  import.batchDim = options.batchDim;
  import.marksInnerValues = precision->narrowsParameters();
  if (options.globalBatch) {
    auto bound = deriveBoundBatch(options);
    if (!bound)
      return bound.takeError();
    import.boundBatch = *bound;
  }
  return import;
}

class Compilation {
public:
  Compilation(const CompileOptions &options, llvm::raw_ostream &log) : options(options), log(log), written(output()) {}
  llvm::Error run();

private:
  llvm::Error compile();
  llvm::Error withSizes(llvm::Error error) const;
  llvm::Error makeContext();
  llvm::Error import();
  llvm::Error importModel();
  llvm::Error prepareTraining(const ImportOptions &import);
  void prepareInference(const std::optional<ImportedModel> &doubled, const ImportOptions &import);
  void logNotes();
  void setMesh();
  llvm::Error checkOutput() const;
  std::vector<ReadFile> readFiles() const;
  llvm::Error checkOverwritten(llvm::ArrayRef<ReadFile> read) const;
  llvm::Error checkExternalData() const;
  bool hasBatch();
  llvm::Error checkFixedBatch();
  void noteRanges();
  llvm::Error weighSharding(mlir::ModuleOp imported, const CompileOptions &chosen, plan::PlanningOptions planning);
  llvm::Error checkMemory(const rt::PlanSummary &summary);
  llvm::Error emit();
  llvm::Error emitMlir();
  llvm::Error emitObjects(const rt::fb::Plan &plan, llvm::StringRef bytes);
  plan::PlanningOptions planningOptions() { return planningRequest(options, *target, model.weights, properties); }
  std::string output() const;

  const CompileOptions &options;
  llvm::raw_ostream &log;
  std::unique_ptr<Target> target;
  std::unique_ptr<mlir::MLIRContext> context;
  ImportedModel model;
  std::map<std::string, std::string> properties; // properties of the plan that describe the model
  mlir::OwningOpRef<mlir::ModuleOp> imported;    // the model as imported, kept if options are tried
  mlir::OwningOpRef<mlir::ModuleOp> kernels;     // kernels form
  WrittenFiles written;
};

std::string Compilation::output() const {
  if (!options.output.empty())
    return options.output;
  llvm::StringRef stem = llvm::sys::path::stem(options.model);
  switch (options.emit) {
  case Emit::Executable:
    return stem.str();
  case Emit::Object:
    return (stem + ".o").str();
  case Emit::Shared:
    return ("lib" + stem + ".so").str();
  case Emit::Plan:
    return (stem + ".plan").str();
  case Emit::Mlir:
    return (stem + ".mlir").str();
  }
  return stem.str();
}

// Checks before the minutes of compilation, not after them, whether the output can be written.
llvm::Error Compilation::checkOutput() const {
  // Without -o, the name of the output is made of the model's: no error about -o may come of the name of a directory.
  if (options.output.empty())
    if (llvm::Error error = checkInputFile(options.model, "an ONNX model"))
      return error;
  bool isPrinted = output() == "-" && options.emit == Emit::Mlir;
  if (llvm::Error error = isPrinted ? llvm::Error::success() : checkOutputPath(output()))
    return error;
  bool hasCode = options.emit != Emit::Plan && options.emit != Emit::Mlir && options.stopAfter >= Phase::Emit;
  if (hasCode) // objects are temporary files until they are linked
    if (auto trial = TemporaryFile::create("cleave", "o"); !trial)
      return trial.takeError();
  if (llvm::Error error = checkOverwritten(readFiles()))
    return error;
  if (llvm::Error error = options.output.empty() ? llvm::Error::success() : checkOutputName(output(), options.emit))
    return error;
  if (options.emit == Emit::Object || options.emit == Emit::Shared)
    if (llvm::Error error = checkModelHeader(output()))
      return error;
  if (llvm::Error error = makeDumpDirectory("--dump-phases", options.dumpPhases, output()))
    return error;
  return checkKernelDump(options, output());
}

// Returns the files that this compilation reads. External data are included only after the model has been imported.
std::vector<ReadFile> Compilation::readFiles() const {
  std::vector<ReadFile> read = {{options.model, "the model"}};
  for (const std::string &config : options.configs)
    read.push_back({config, "the file of --config"});
  for (const std::string &plugin : options.passPlugins)
    read.push_back({plugin, "the file of --load-pass-plugin"});
  if (llvm::StringRef schedule = options.schedule; schedule.consume_front("file="))
    read.push_back({schedule.str(), "the file of --schedule"});
  for (const std::string &file : model.externalFiles) {
    llvm::SmallString<256> path(llvm::sys::path::parent_path(options.model));
    llvm::sys::path::append(path, file);
    read.push_back({path.str().str(), "external data of the model"});
  }
  return read;
}

// Checks every name that this compilation may write to.
llvm::Error Compilation::checkOverwritten(llvm::ArrayRef<ReadFile> read) const {
  std::string path = output();
  std::vector<std::string> written = {path, weightsPathBeside(path)};
  if (options.emit == Emit::Object || options.emit == Emit::Shared)
    written.push_back(modelHeaderPath(output()));
  for (int phase = 0; !options.dumpPhases.empty() && phase <= static_cast<int>(Phase::Plan); ++phase)
    written.push_back(dumpPath(options, static_cast<Phase>(phase)));
  return checkInputsAreKept("-o", written, read);
}

// The names of external data are known after the model has been read. Nothing has been written before.
llvm::Error Compilation::checkExternalData() const { return checkOverwritten(readFiles()); }

llvm::Error Compilation::makeContext() {
  mlir::DialectRegistry registry;
  registry.insert<CleaveDialect, plan::PlanDialect, mlir::func::FuncDialect, mlir::shard::ShardDialect>();
  if (llvm::Error error = loadPlugins(options.passPlugins, registry))
    return error;
  context = std::make_unique<mlir::MLIRContext>(registry);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false); // users know their models, not their text in MLIR
  return llvm::Error::success();
}

// Imports the model, and adds the requests of the command line for the passes as attributes.
llvm::Error Compilation::import() {
  auto pipeline = readPipelineRequest(options);
  if (!pipeline)
    return pipeline.takeError();
  if (llvm::Error error = importModel())
    return error;
  setMesh();
  requestPipeline(*model.module, *pipeline, options);
  return fitStages(
      *model.module, *pipeline, options, [this] { return planningOptions(); }, log);
}

llvm::Error Compilation::importModel() {
  auto chosen = importOptionsOf(options);
  if (!chosen)
    return chosen.takeError();
  ImportOptions import = std::move(*chosen);
  auto imported = importONNX(*context, options.model, import);
  if (!imported)
    return imported.takeError();
  model = std::move(*imported);
  std::optional<ImportedModel> doubled = importDoubled(model, import);
  if (llvm::Error error = confirmBatchDims(model, doubled, import))
    return error;
  if (llvm::Error error = checkTies(*model.module, model.weights, options.tie))
    return error;
  if (options.train)
    if (llvm::Error error = prepareTraining(import))
      return error;
  logNotes();
  noteRanges();
  if (!options.train)
    prepareInference(doubled, import);
  return llvm::Error::success();
}

llvm::Error Compilation::prepareTraining(const ImportOptions &import) {
  if (llvm::Error error = checkFixedBatch())
    return error;
  if (llvm::Error error = checkBatchNormGroups(*model.module, import.batchNormGroups))
    return error;
  properties[rt::kGraphProperty] = model.graphHash;
  bool isCut = options.microBatches > 1 || options.lossAverage == "rank"; // the loss is that of parts of a batch
  return hasBatch() && (isCut || !hasPlainMeans(*model.module)) ? noteLossReductions(model, import)
                                                                : llvm::Error::success();
}

// Adds the facts for runs that ask for some outputs only, or give some samples only.
void Compilation::prepareInference(const std::optional<ImportedModel> &doubled, const ImportOptions &import) {
  for (const auto &facts : {inputNeeds(*model.module), mixedOutputs(model, doubled, import)})
    properties.insert(facts.begin(), facts.end());
  dropOptionalChecks(*model.module);
}

void Compilation::logNotes() {
  for (const std::string &warning : model.warnings)
    log << "warning: " << rt::printable(warning) << "\n";
  for (const std::string &note : model.notes)
    log << "note: " << rt::printable(note) << "\n";
  if (std::optional<std::string> note = idleStages(options))
    log << "note: " << *note << "\n";
  for (const std::string &warning : idleOptions(options, model.hasBatchNorm))
    log << "warning: " << rt::printable(warning) << "\n";
}

void Compilation::setMesh() {
  std::vector<int64_t> sizes;
  llvm::SmallVector<mlir::StringAttr> axes;
  for (const auto &[name, size] : options.mesh) {
    axes.push_back(mlir::StringAttr::get(context.get(), name));
    sizes.push_back(size);
  }
  (*model.module)->setAttr(kMeshAttr, MeshAttr::get(context.get(), axes, sizes));
}

bool Compilation::hasBatch() { return llvm::any_of((*model.module).getOps<mlir::func::FuncOp>(), hasBatchDims); }

// If the batch has a fixed size, a step takes exactly this batch, and several runs cannot be combined to one loss.
llvm::Error Compilation::checkFixedBatch() {
  if (hasBatch())
    return llvm::Error::success();
  // A dimension that --dim has bound may be the batch, as in [sequence, batch, features].
  bool isFixed = options.dims.empty();
  std::string other = isFixed ? "" : options.dims.begin()->first,
              facts = isFixed ? "the model's inputs have fixed sizes" : "no input has a batch as its first dimension",
              advice = isFixed ? "export the model with a dynamic batch dimension"
                               : "if '" + other + "' is the batch, give --batch-dim " + other;
  if (options.microBatches > 1)
    return usageError("--micro-batches", facts + ", so that there is no batch to take in parts; " + advice);
  model.notes.push_back(facts + ": --data takes arrays of exactly these sizes, one for every step; " +
                        (isFixed ? "for a data set, " : "") + advice);
  return llvm::Error::success();
}

// Adds the ranges of inputs that the importer has noted (compiler/Import/ONNX/Operators/IndexRange.h) as properties for
// the runtime (runtime/session/IndexRange.h).
void Compilation::noteRanges() {
  for (auto function : (*model.module).getOps<mlir::func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      for (auto [kind, family] : {std::pair{kLabelsAttr, rt::kLabelsProperties},
                                  {kIndicesAttr, rt::kIndicesProperties},
                                  {kRowsAttr, rt::kRowsProperties}}) {
        auto range = function.getArgAttrOfType<mlir::ArrayAttr>(i, kind);
        auto name = function.getArgAttrOfType<mlir::StringAttr>(i, kNameAttr);
        if (!range || !name)
          continue;
        std::string text;
        for (auto number : range.getAsRange<mlir::IntegerAttr>())
          text += (text.empty() ? "" : ",") + std::to_string(number.getInt());
        properties[family.of(name.getValue())] = text;
      }
}

llvm::Error Compilation::emitObjects(const rt::fb::Plan &plan, llvm::StringRef bytes) {
  ArtefactSource source{options, output(), *target, *kernels, model.weights, readFiles()};
  return writeArtefact(source, plan, bytes, written, log);
}

static llvm::Error openWritten(llvm::Expected<std::string> &bytes, const rt::fb::Plan **plan) {
  if (!bytes)
    return bytes.takeError();
  if (rt::Status status = rt::openPlan(bytes->data(), bytes->size(), plan); !status.isOk())
    return makeError("the compiler wrote a plan that the runtime refuses: " + status.message());
  return llvm::Error::success();
}

llvm::Error Compilation::checkMemory(const rt::PlanSummary &summary) {
  auto withOptions = [this](const CompileOptions &changed) {
    return tryOptions(*imported, changed, planningRequest(changed, *target, model.weights, properties));
  };
  return checkMemoryLimit(summary, options, withOptions);
}

llvm::Error Compilation::emit() {
  auto bytes = plan::writePlan(*model.module);
  const rt::fb::Plan *plan = nullptr;
  if (llvm::Error error = openWritten(bytes, &plan))
    return error;
  if (!options.insertedPipelines.empty()) // a pass may have changed the table; the planner asks the target itself
    if (llvm::Error error = verifyKernelTable(*plan, output()))
      return error;
  rt::PlanSummary summary = rt::summarize(*plan);
  if (llvm::Error error = checkMemory(summary))
    return error;
  auto predicted = predictedFacts(*plan, options.targetMachine);
  if (!predicted)
    return predicted.takeError();
  if (!predicted->facts.empty()) {
    bytes = plan::writePlan(*model.module, predicted->facts);
    if (llvm::Error error = openWritten(bytes, &plan))
      return error;
  }
  if (options.emit == Emit::Plan)
    written.add(output(), "plan");
  if (llvm::Error error = options.emit == Emit::Plan ? writeFile(output(), *bytes) : emitObjects(*plan, *bytes))
    return error;
  // This message says that the compilation has succeeded, so nothing may fail after it.
  log << rt::printSummary(*plan, summary) << predicted->text << written.text();
  return llvm::Error::success();
}

llvm::Error Compilation::emitMlir() {
  if (options.memoryLimit &&
      options.stopAfter == Phase::Plan) { // at earlier phases there is no plan that could be too large
    auto summary = summarizeModule(*model.module);
    if (!summary)
      return summary.takeError();
    if (llvm::Error error = checkMemory(*summary))
      return error;
  }
  if (llvm::Error error = writeModule(*model.module, output()))
    return error;
  written.add(output(), "MLIR");
  if (output() != "-") // "-" is stdout
    log << written.text();
  return llvm::Error::success();
}

// Adds sizes that are probably mistakes to an error, and the options that gave them.
llvm::Error Compilation::withSizes(llvm::Error error) const {
  constexpr int64_t kLarge = 1 << 24;
  std::string sizes;
  for (const auto &[name, size] : options.dims)
    if (size > kLarge)
      sizes += " --dim " + name + "=" + std::to_string(size);
  if (options.globalBatch.value_or(0) > kLarge)
    sizes += " --global-batch " + std::to_string(*options.globalBatch);
  if (!error || sizes.empty() || isUsageError(error))
    return error;
  return makeError(llvm::toString(std::move(error)) + " (compiled with" + sizes + "; give smaller sizes)");
}

llvm::Error Compilation::run() { return withSizes(compile()); }

llvm::Error Compilation::compile() {
  auto parsed = parseTarget(options.target);
  if (!parsed)
    return parsed.takeError();
  target = std::move(*parsed);
  if (llvm::Error error = checkOutput())
    return error;
  if (llvm::Error error = makeContext())
    return error;
  if (llvm::Error error = import())
    return error;
  if (llvm::Error error = checkExternalData())
    return error;
  auto stopped = [&](Progress progress) { return progress == Progress::Stopped; };
  if (splitsStates(options) || options.memoryLimit)
    imported = mlir::cast<mlir::ModuleOp>((*model.module)->clone());
  auto lowered = lowerToKernels(*model.module, options, log);
  if (!lowered)
    return lowered.takeError();
  if (stopped(*lowered))
    return emitMlir();
  if (std::optional<std::string> warning = idleAttention(options, *model.module))
    log << "warning: " << rt::printable(*warning) << "\n";
  if (std::string folder = KernelCache::refusedFolder(); !folder.empty())
    log << "warning: CLEAVE_KERNEL_CACHE=" << rt::printable(folder)
        << ": kernels are not kept there; expected a folder of this user that others cannot write to\n";
  // The plan level has only the names of kernels. This copy keeps their bodies for code generation.
  kernels = mlir::cast<mlir::ModuleOp>((*model.module)->clone());
  CompileOptions chosen = options;
  auto recompute = chooseRecompute(*kernels, options, planningOptions(), log);
  if (!recompute)
    return recompute.takeError();
  chosen.recompute = *recompute;
  plan::PlanningOptions planning = planningOptions();
  if (options.train)
    planning.properties[rt::kRecomputeProperty] =
        *recompute + (options.recomputeWhen == "always" ? "" : "," + options.recomputeWhen);
  auto planned = lowerToPlan(*model.module, chosen, planning, log);
  if (!planned)
    return planned.takeError();
  if (stopped(*planned))
    return emitMlir();
  if (splitsStates(options))
    if (llvm::Error error = weighSharding(*imported, chosen, planning))
      return error;
  return emit();
}

// Plans again if fewer gathers should be in flight.
llvm::Error Compilation::weighSharding(mlir::ModuleOp imported, const CompileOptions &chosen,
                                       plan::PlanningOptions planning) {
  auto summary = summarizeModule(*model.module);
  if (!summary)
    return summary.takeError();
  auto inFlight = chooseGathersInFlight(*summary, imported, *kernels, chosen, planning, log);
  if (!inFlight)
    return inFlight.takeError();
  if (*inFlight == planning.prefetch.inFlight)
    return llvm::Error::success();
  planning.prefetch.inFlight = *inFlight;
  planning.constants = [](llvm::StringRef, mlir::DenseElementsAttr) {}; // the weights have them from the first planning
  model.module = mlir::cast<mlir::ModuleOp>((*kernels)->clone());
  return lowerToPlan(*model.module, chosen, planning, log).takeError();
}

} // namespace

// Notes and reports are shown after nothing can fail any more. So a failed compilation shows only its error.
llvm::Error cleave::compile(const CompileOptions &options, llvm::raw_ostream &log) {
  std::string text;
  llvm::raw_string_ostream kept(text);
  llvm::Error error = Compilation(options, kept).run();
  if (!error)
    log << text;
  return error;
}
