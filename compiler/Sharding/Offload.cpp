#include "compiler/Sharding/Offload.h"

#include "runtime/base/NearestName.h"

#include "llvm/ADT/SmallVector.h"

using namespace cleave;

bool Offload::covers(Role role) const {
  switch (role) {
  case Role::Parameter:
    return params;
  case Role::Gradient:
    return grads;
  case Role::Optimizer:
    return optimizer;
  default: // states that are small, or written from outside
    return false;
  }
}

llvm::Expected<Offload> cleave::parseOffload(llvm::StringRef text) {
  Offload offload;
  if (text.empty())
    return offload;
  llvm::SmallVector<llvm::StringRef> kinds;
  text.split(kinds, ',');
  for (llvm::StringRef kind : kinds) {
    bool *chosen = kind == "params"        ? &offload.params
                   : kind == "grads"       ? &offload.grads
                   : kind == "optimizer"   ? &offload.optimizer
                   : kind == "activations" ? &offload.activations
                                           : nullptr;
    if (!chosen)
      return llvm::createStringError("expected params, grads, optimizer, activations or several of them, as in "
                                     "optimizer,grads; got: " +
                                     text + rt::didYouMean(kind, {"params", "grads", "optimizer", "activations"}));
    if (*chosen)
      return llvm::createStringError("'" + kind + "' is given twice");
    *chosen = true;
  }
  return offload;
}
