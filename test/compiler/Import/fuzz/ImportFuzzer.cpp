// cleave-import-fuzz: libFuzzer for the importer, with hostile models. An input is an ONNX file. It passes if the
// importer returns a module or a message. A crash, a sanitizer's finding, a hang, or 4 GiB of memory ends the program,
// and leaves the input in crash-*. Use it with cleave-import, or give it to this program again.
//
// Random bytes would end in the protobuf parser. So most mutations keep messages well-formed and change their content
// (ModelMutator.h), and libFuzzer keeps those that reach new code.
#include "test/compiler/Import/fuzz/ModelMutator.h"

#include "compiler/Import/ONNX/Importer.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <cstring>
#include <google/protobuf/stubs/logging.h>

using namespace cleave;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

// LLVM's allocators poison memory that they hold back, but only in functions that are inlined into instrumented code.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }

namespace {

constexpr unsigned kCasesPerContext = 200; // a context stores every type and attribute forever

// Returns a context, which is used for many cases.
mlir::MLIRContext &nextContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned cases = 0;
  if (cases++ % kCasesPerContext == 0) {
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    context->loadDialect<CleaveDialect, mlir::func::FuncDialect>();
  }
  return *context;
}

// The options are computed from the input, so that the input is enough to repeat a case.
ImportOptions optionsFor(llvm::ArrayRef<uint8_t> bytes) {
  fuzz::Random random(llvm::xxh3_64bits(bytes));
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

bool parse(const uint8_t *data, size_t size, onnx::ModelProto &model) {
  google::protobuf::LogSilencer silence;
  return model.ParseFromArray(data, int(size));
}

// The test models have their weights in other files. Here, the weights become zeros of the right size.
std::string withWeights(const uint8_t *data, size_t size) {
  onnx::ModelProto model;
  if (parse(data, size, model) && fuzz::embedWeights(model))
    return model.SerializeAsString();
  return std::string(reinterpret_cast<const char *>(data), size);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes = withWeights(data, size);
  auto model = importONNXFromMemory(nextContext(), bytes, /*directory=*/"", optionsFor({data, size}));
  if (!model && llvm::toString(model.takeError()).empty()) {
    llvm::errs() << "the model was refused without a message\n";
    abort();
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  fuzz::Random random(seed);
  size_t kind = random.below(20);
  onnx::ModelProto model;
  if (kind == 0 || !parse(data, size, model))
    return LLVMFuzzerMutate(data, size, maxSize);
  if (kind < 5 || !model.has_graph())
    model = fuzz::randomOperator(random);
  else
    fuzz::mutate(model, random);
  std::string bytes = model.SerializeAsString();
  if (bytes.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
