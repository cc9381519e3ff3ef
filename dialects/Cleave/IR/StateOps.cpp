#include "dialects/Cleave/IR/Cleave.h"
