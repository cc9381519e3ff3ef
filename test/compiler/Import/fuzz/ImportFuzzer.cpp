// cleave-import-fuzz: libFuzzer on the importer, for hostile models. An input is an ONNX file; it passes when the
// importer returns a module or a message. A crash, what a sanitizer sees, a hang or 4 GiB of memory end the program and
// leave the input in crash-*, to be imported by cleave-import or given to this program again.
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

// LLVM's allocators poison what they hold back, but only where they are inlined into instrumented code.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }

namespace {

constexpr unsigned kCasesPerContext = 200; // contexts keep every type and attribute they have seen

// One context serves many cases.
mlir::MLIRContext &nextContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned cases = 0;
  if (cases++ % kCasesPerContext == 0) {
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    context->loadDialect<CleaveDialect, mlir::func::FuncDialect>();
  }
  return *context;
}

// Options follow from the input, so that an input alone repeats a case.
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

// The test models keep their weights apart; here they are zeros of the right size.
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
