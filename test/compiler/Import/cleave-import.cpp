// cleave-import MODEL.onnx [options]: a test tool that prints the imported module, its weights and notes. cleave-import
// --operators: prints the names of the operators that the importer knows, one on each line.
#include "compiler/Import/ONNX/Importer.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::desc("MODEL.onnx"));
static cl::list<std::string> dims("dim", cl::CommaSeparated, cl::desc("SYMBOL=N or INPUT:INDEX=N"));
static cl::list<std::string> buffers("buffers", cl::CommaSeparated), freeze("freeze", cl::CommaSeparated);
static cl::opt<bool> train("train"), generic("generic"), quiet("quiet", cl::desc("no module"));
static cl::opt<bool> operators("operators", cl::desc("list the operators that are read, and nothing else"));
static cl::opt<std::string> weightsFile("weights-file",
                                        cl::desc("write all weights' bytes, end to end, in listed order"));
static cl::opt<bool> printWeights("weights", cl::desc("list the weights")), printNotes("notes");
static cl::opt<std::string> lossOutput("loss-output"), loss("loss"), batchDim("batch-dim");
static cl::opt<int64_t> dataRanks("data-ranks", cl::init(1)), groups("batch-norm-groups", cl::init(1));

static bool readDims(llvm::StringMap<int64_t> &result) {
  for (const std::string &binding : dims) {
    auto [name, value] = llvm::StringRef(binding).rsplit('=');
    if (value.getAsInteger(10, result[name])) {
      llvm::errs() << "error: --dim " << binding << ": expected SYMBOL=N\n";
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  if (operators) {
    std::vector<std::string> names = cleave::onnx_import::OperatorTable::get().names();
    names.insert(names.end(), {"If", "Loop", "Scan"}); // the importer itself expands these
    for (const std::string &name : names)
      llvm::outs() << name << "\n";
    return 0;
  }
  cleave::ImportOptions options;
  if (!readDims(options.dims))
    return 2;
  options.train = train;
  options.lossOutput = lossOutput;
  options.loss = loss;
  options.batchDim = batchDim;
  options.dataRanks = dataRanks;
  options.batchNormGroups = groups;
  options.buffers.assign(buffers.begin(), buffers.end());
  options.freeze.assign(freeze.begin(), freeze.end());

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<cleave::CleaveDialect, mlir::func::FuncDialect>();
  auto model = cleave::importONNX(context, input, options);
  if (!model) {
    llvm::errs() << "error: " << llvm::toString(model.takeError()) << "\n";
    return 1;
  }
  if (!quiet)
    model->module->print(llvm::outs(),
                         generic ? mlir::OpPrintingFlags().printGenericOpForm() : mlir::OpPrintingFlags());
  for (const auto &[name, tensor] : model->weights)
    if (printWeights)
      llvm::outs() << "weight " << name << " " << tensor.type << " " << tensor.bytes.size() << " bytes\n";
  if (!weightsFile.empty()) {
    std::error_code code;
    llvm::raw_fd_ostream out(weightsFile, code);
    for (const auto &[name, tensor] : model->weights)
      out.write(tensor.bytes.data(), tensor.bytes.size());
  }
  if (!printNotes)
    return 0;
  for (const std::string &warning : model->warnings)
    llvm::outs() << "warning: " << warning << "\n";
  for (const std::string &note : model->notes)
    llvm::outs() << "note: " << note << "\n";
  return 0;
}
