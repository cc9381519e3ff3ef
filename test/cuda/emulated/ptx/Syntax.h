// The syntax tree of a PTX module. The parser interprets only names, numbers and nesting.
//
// PTX is a flat language. A function's body is a list of statements; `{` and `}` open and close scopes of labels and
// registers (inline assembly reuses names such as LAB_WAIT, so a label belongs to its innermost scope). An instruction
// is
//
//     @!%p1 ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4+16];
//     ^guard ^opcode parts   ^operands
//
// Its opcode is stored as the list of its parts, {"ld", "global", "v4", "f32"}. The translator removes the parts one by
// one and rejects an instruction if parts are left. So no modifier is ignored silently.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cleave::emulated::ptx {

struct Operand;

// Indexing an operand that does not exist returns a sink, which no handler can read. So a missing operand is an error,
// and never a crash.
class OperandList : public std::vector<Operand> {
public:
  using std::vector<Operand>::vector;
  const Operand &operator[](size_t i) const;
};

struct Operand {
  enum class Kind {
    Name,      // %r1, %tid.x, a label, a variable
    Immediate, // 12, -1, 0x7f, 0f3F800000 (its bits)
    Decimal,   // 0.5: a floating-point number whose bits depend on the instruction's type
    Vector,    // {a, b}, and (a, b) of a call
    Address,   // [base+offset]; `parts[0]` is the base
    Pair,      // %r1|%p1
    Sink       // _
  };
  Kind kind = Kind::Sink;
  std::string name;
  bool negated = false; // !%p1
  uint64_t bits = 0;
  double decimal = 0;
  int64_t offset = 0;
  OperandList parts;
};

struct Instruction {
  int line = 0;
  std::string guard; // the predicate's name, or empty
  bool guardNegated = false;
  std::vector<std::string> opcode;
  OperandList operands;
  // The opcode as it was written, for messages.
  std::string spelling() const;
};

// A variable of any space: .global, .const, .shared, .local, .param.
struct Variable {
  std::string space;
  std::string name;
  unsigned align = 1;
  uint64_t bytes = 0;
  bool isExtern = false;
  std::vector<uint8_t> initial; // empty: zero (.global, .const)
};

struct Register {
  std::string name;
  unsigned bits = 0;
};

struct Statement {
  enum class Kind { Instruction, Label, Open, Close, Registers, Variable, BranchTargets };
  Kind kind = Kind::Instruction;
  Instruction instruction;
  std::string label; // Label, BranchTargets
  std::vector<Register> registers;
  Variable variable;
  std::vector<std::string> targets; // BranchTargets
};

struct Function {
  std::string name;
  int line = 0;
  bool isEntry = false;
  bool hasBody = false;
  std::vector<Variable> parameters;
  std::vector<Variable> results;
  std::vector<Statement> body;
  unsigned maxThreads[3] = {0, 0, 0};      // .maxntid; 0: not given
  unsigned requiredThreads[3] = {0, 0, 0}; // .reqntid
};

struct Module {
  std::string version;
  std::string target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

// Bits of a fundamental type ("f32" has 32, "pred" has 1). 0 if `type` is no such type.
unsigned bitsOfType(const std::string &type);

} // namespace cleave::emulated::ptx
