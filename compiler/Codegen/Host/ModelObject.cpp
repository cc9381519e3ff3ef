#include "compiler/Codegen/Host/ModelObject.h"

#include "compiler/Codegen/Host/MachineCode.h"
#include "runtime/include/cleave/model.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"

using namespace cleave;
using llvm::Constant;
using llvm::GlobalVariable;

namespace {

// Builds the constants of one module. The fields of the struct are those of cleave_model.
class ObjectBuilder {
public:
  explicit ObjectBuilder(llvm::Module &module)
      : module(module), context(module.getContext()), pointer(llvm::PointerType::getUnqual(context)),
        size(llvm::Type::getInt64Ty(context)) {}

  void build(const ModelObject &model);

private:
  std::pair<Constant *, Constant *> weightsFile(llvm::StringRef file, llvm::StringRef checksum);
  Constant *null() { return llvm::ConstantPointerNull::get(pointer); }
  GlobalVariable *define(Constant *value, llvm::Twine name, llvm::GlobalValue::LinkageTypes linkage) {
    return new GlobalVariable(module, value->getType(), /*isConstant=*/true, linkage, value, name);
  }
  Constant *bytes(llvm::StringRef data, llvm::Twine name, llvm::StringRef section = {});
  Constant *text(llvm::StringRef value, llvm::Twine name) {
    return define(llvm::ConstantDataArray::getString(context, value), name, GlobalVariable::PrivateLinkage);
  }
  Constant *kernelTable(llvm::ArrayRef<std::string> symbols);
  Constant *factsTable(llvm::ArrayRef<uint64_t> facts);
  Constant *deviceTable(llvm::ArrayRef<ModelObject::Kernel> kernels);

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *pointer;
  llvm::IntegerType *size;
};

} // namespace

Constant *ObjectBuilder::bytes(llvm::StringRef data, llvm::Twine name, llvm::StringRef section) {
  if (data.empty())
    return null();
  GlobalVariable *global = define(llvm::ConstantDataArray::getString(context, data, /*AddNull=*/false), name,
                                  GlobalVariable::PrivateLinkage);
  global->setAlignment(llvm::Align(64));
  if (!section.empty())
    global->setSection(section);
  global->setCodeModel(llvm::CodeModel::Large);
  return global;
}

Constant *ObjectBuilder::kernelTable(llvm::ArrayRef<std::string> symbols) {
  if (symbols.empty())
    return null();
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, size, size}, false);
  llvm::SmallVector<Constant *> entries;
  for (const std::string &symbol : symbols)
    entries.push_back(symbol.empty() ? null()
                                     : llvm::cast<Constant>(module.getOrInsertFunction(symbol, type).getCallee()));
  auto *array = llvm::ConstantArray::get(llvm::ArrayType::get(pointer, entries.size()), entries);
  return define(array, "kernels", GlobalVariable::PrivateLinkage);
}

Constant *ObjectBuilder::factsTable(llvm::ArrayRef<uint64_t> facts) {
  if (facts.empty())
    return null();
  GlobalVariable *table =
      define(llvm::ConstantDataArray::get(context, facts), "kernel_facts", GlobalVariable::PrivateLinkage);
  table->setSection(factsSection);
  return table;
}

Constant *ObjectBuilder::deviceTable(llvm::ArrayRef<ModelObject::Kernel> kernels) {
  if (kernels.empty())
    return null();
  llvm::SmallVector<Constant *> entries;
  for (const ModelObject::Kernel &kernel : kernels) {
    Constant *fields[] = {kernel.symbol.empty() ? null() : text(kernel.symbol, "device_symbol"),
                          llvm::ConstantInt::get(size, kernel.blocks), llvm::ConstantInt::get(size, kernel.blockSize),
                          llvm::ConstantInt::get(size, kernel.alignments)};
    entries.push_back(llvm::ConstantStruct::getAnon(fields));
  }
  auto *array = llvm::ConstantArray::get(llvm::ArrayType::get(entries.front()->getType(), entries.size()), entries);
  GlobalVariable *table = define(array, "device_kernels", GlobalVariable::PrivateLinkage);
  table->setSection(deviceSection);
  return table;
}

// Returns the file's name and its checksum: two texts in one constant, so that the section has them in this order.
std::pair<Constant *, Constant *> ObjectBuilder::weightsFile(llvm::StringRef file, llvm::StringRef checksum) {
  if (file.empty())
    return {null(), null()};
  std::string texts = file.str() + '\0' + checksum.str();
  GlobalVariable *global =
      define(llvm::ConstantDataArray::getString(context, texts), "weights_file", GlobalVariable::PrivateLinkage);
  global->setSection(weightsSection);
  Constant *second = llvm::ConstantExpr::getInBoundsGetElementPtr(llvm::Type::getInt8Ty(context), global,
                                                                  llvm::ConstantInt::get(size, file.size() + 1));
  return {global, second};
}

void ObjectBuilder::build(const ModelObject &model) {
  auto number = [&](size_t value) { return llvm::ConstantInt::get(size, value); };
  auto [weightsFile, weightsChecksum] = this->weightsFile(model.weightsFile, model.weightsChecksum);
  Constant *fields[] = {
      llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), CLEAVE_MODEL_ABI),
      text(model.name, "name"),
      bytes(model.plan, "plan", planSection),
      number(model.plan.size()),
      kernelTable(model.kernels),
      factsTable(model.facts),
      number(model.kernels.size()),
      bytes(model.weights, "weights"),
      number(model.weights.size()),
      weightsFile,
      weightsChecksum,
      model.image.empty() ? null() : text(model.image, "device_image"), // PTX is read up to its NUL
      number(model.image.size()),
      deviceTable(model.device),
  };
  GlobalVariable *object =
      define(llvm::ConstantStruct::getAnon(fields), modelSymbol + model.name, GlobalVariable::ExternalLinkage);
  if (model.isMain)
    define(object, "cleave_main_model", GlobalVariable::ExternalLinkage);
}

llvm::Expected<std::string> cleave::emitModelObject(const ModelObject &model) {
  bool identifier = !model.name.empty();
  for (char c : model.name)
    identifier &= llvm::isAlnum(c) || c == '_';
  if (!identifier)
    return llvm::createStringError("a model's name becomes part of a C symbol: letters, digits and '_'; got: '%s'",
                                   model.name.c_str());
  auto target = HostTarget::parse("host:generic");
  if (!target)
    return target.takeError();
  auto machine = makeTargetMachine(*target);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  llvm::Module module(modelSymbol + model.name, context);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  ObjectBuilder(module).build(model);
  return emitMachineCode(module, **machine);
}
