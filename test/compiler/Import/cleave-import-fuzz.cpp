// cleave-import-fuzz --seconds N --seed S MODEL.onnx...: hostile models for the importer, one after another.
//
// Random bytes would end in the protobuf parser. Here messages stay well-formed and their content is wrong: half of the
// cases are graphs of one random operator with random inputs and attributes, the other half are the given models with
// a few fields changed by protobuf's reflection. A case passes when the importer returns a module or a message; a
// crash, a hang (20 s) or 4 GB of memory end the program, and the case is left in fuzz-case.onnx to be imported by
// cleave-import.
//
// Rejected: libFuzzer, which needs Clang's runtime and all of the importer compiled a second time; in a build with
// CLEAVE_SANITIZER=address or undefined this program finds what the sanitizers see.
#include "test/compiler/Import/ModelMutator.h"

#include "compiler/Import/ONNX/Importer.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace cl = llvm::cl;
using namespace cleave;

static cl::list<std::string> seeds(cl::Positional, cl::desc("MODEL.onnx ..."));
static cl::opt<unsigned> seconds("seconds", cl::init(60)), seed("seed", cl::init(1)), first("first", cl::init(0));

namespace {

constexpr unsigned kCasesPerContext = 200; // contexts keep every type and attribute they have seen
constexpr unsigned kSecondsPerCase = 20;

void limitMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they map terabytes of shadow
  rlimit limit{4ull << 30, 4ull << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

std::vector<onnx::ModelProto> readSeeds() {
  std::vector<onnx::ModelProto> models;
  for (const std::string &path : seeds) {
    std::ifstream file(path, std::ios::binary);
    onnx::ModelProto model;
    if (model.ParseFromIstream(&file) && fuzz::embedWeights(model))
      models.push_back(std::move(model));
    else
      llvm::errs() << "note: " << path << " is left out: unreadable, or its weights are large\n";
  }
  return models;
}

ImportOptions randomOptions(fuzz::Random &random) {
  ImportOptions options;
  for (const char *name : {"batch", "seq", "sequence"})
    options.dims[name] = random.below(20) == 0 ? random.integer() : 2;
  if (random.below(3))
    for (const char *name : {"seq", "sequence"})
      options.dims.erase(name);
  options.train = random.below(2);
  options.dataRanks = 1 + random.below(2);
  options.batchNormGroups = random.below(2) ? options.dataRanks : 1;
  const char *losses[] = {"", "", "cross-entropy", "nll", "mse"};
  if (options.train)
    options.loss = losses[random.below(5)];
  return options;
}

struct Counts {
  unsigned imported = 0, refused = 0;
};

// False when the importer failed without a word.
bool tryModel(mlir::MLIRContext &context, const std::string &bytes, const ImportOptions &options, Counts &counts) {
  alarm(kSecondsPerCase);
  auto model = importONNXFromMemory(context, bytes, /*directory=*/"", options);
  alarm(0);
  if (model) {
    ++counts.imported;
    return true;
  }
  ++counts.refused;
  return !llvm::toString(model.takeError()).empty();
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  limitMemory();
  std::vector<onnx::ModelProto> models = readSeeds();
  Counts counts;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::unique_ptr<mlir::MLIRContext> context;
  unsigned number = first;
  for (; std::chrono::steady_clock::now() < end; ++number) {
    if (!context || number % kCasesPerContext == 0) {
      context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
      context->loadDialect<CleaveDialect, mlir::func::FuncDialect>();
    }
    // Every case has a seed of its own: --seed S --first N begins with case N again.
    fuzz::Random random(uint64_t(seed) << 32 | number);
    onnx::ModelProto model;
    if (models.empty() || random.below(2)) {
      model = fuzz::randomOperator(random);
    } else {
      model = models[random.below(models.size())];
      fuzz::mutate(model, random);
    }
    std::string bytes = model.SerializeAsString();
    std::ofstream("fuzz-case.onnx", std::ios::binary) << bytes;
    if (!tryModel(*context, bytes, randomOptions(random), counts)) {
      llvm::errs() << "case " << number << " was refused without a message; see fuzz-case.onnx\n";
      return 1;
    }
  }
  unlink("fuzz-case.onnx");
  llvm::outs() << number - first << " hostile models: " << counts.imported << " imported, " << counts.refused
               << " refused with a message\n";
  return counts.imported && counts.refused ? 0 : 1; // only one of both would mean that nothing was tried
}
