#include "test/cuda/emulated/ptx/Parser.h"
#include "test/cuda/emulated/ptx/Cursor.h"
#include <map>

namespace cleave::emulated::ptx {
namespace {

class Parser {
public:
  Parser(const std::string &text, Module &module) : in(text), module(module) {}

  bool run() {
    while (ok() && !in.atEnd())
      topLevel();
    return ok();
  }
  std::string error;

private:
  bool ok() const { return error.empty(); }
  void fail(const std::string &message) {
    if (ok())
      error = "line " + std::to_string(in.line()) + ": " + message;
  }
  void expect(char c) {
    if (!in.take(c))
      fail(std::string("expected `") + c + "`, found `" + in.peek() + "`");
  }

  void topLevel();
  void functionOrVariable(bool isExtern);
  void function(bool isEntry);
  void parameters(std::vector<Variable> &list);
  void performanceDirectives(Function &f);
  void body(Function &f);
  void statement(Function &f);
  void directive(Function &f);
  void registers(Statement &s);
  void instruction(Statement &s);
  bool variable(const std::string &space, bool isExtern, Variable &v);
  void initializer(Variable &v, unsigned elementBytes);
  Operand operand(bool inAddress = false);
  int64_t offset();
  Operand list(char close);
  unsigned integer();

  Cursor in;
  Module &module;
};

void Parser::topLevel() {
  if (in.takeWord(".version")) {
    module.version = in.opcode();
  } else if (in.takeWord(".target")) {
    module.target = in.name();
    while (in.take(','))
      in.name();
  } else if (in.takeWord(".address_size")) {
    if (integer() != 64)
      fail("only .address_size 64 is emulated");
  } else if (in.takeWord(".file") || in.takeWord(".loc") || in.takeWord(".pragma")) {
    in.skipPast('\n');
  } else if (in.takeWord(".section")) {
    in.skipPast('}');
  } else {
    functionOrVariable(false);
  }
}

void Parser::functionOrVariable(bool isExtern) {
  for (;;) {
    if (in.takeWord(".extern"))
      isExtern = true;
    else if (!in.takeWord(".visible") && !in.takeWord(".weak") && !in.takeWord(".common"))
      break;
  }
  if (in.takeWord(".entry"))
    return function(true);
  if (in.takeWord(".func"))
    return function(false);
  for (const char *space : {"global", "const", "shared"})
    if (in.takeWord(std::string(".") + space)) {
      Variable v;
      if (variable(space, isExtern, v))
        module.variables.push_back(v);
      return expect(';');
    }
  fail("this directive is not emulated: `" + in.opcode() + "`");
}

unsigned Parser::integer() {
  uint64_t bits = 0;
  double decimal;
  bool isDecimal;
  if (!in.number(bits, decimal, isDecimal) || isDecimal)
    fail("expected a whole number");
  return unsigned(bits);
}

// Parses the text after the space: `.align 4 .b8 name[12] = {...}`, `.u64 .ptr .global .align 16 name`, `.b32 name`.
bool Parser::variable(const std::string &space, bool isExtern, Variable &v) {
  v.space = space;
  v.isExtern = isExtern;
  unsigned elementBytes = 0, vector = 1;
  for (;;) {
    if (in.takeWord(".align")) {
      v.align = integer();
    } else if (in.takeWord(".ptr")) {
      // The space and alignment that the pointer points to are hints for the optimizer. They do not change the
      // parameter.
      while (in.takeWord(".global") || in.takeWord(".shared") || in.takeWord(".const") || in.takeWord(".local") ||
             in.takeWord(".generic"))
        ;
      if (in.takeWord(".align"))
        integer();
    } else if (in.takeWord(".v2")) {
      vector = 2;
    } else if (in.takeWord(".v4")) {
      vector = 4;
    } else if (in.peek() == '.') {
      std::string type = in.opcode().substr(1);
      if (type == "attribute") {
        in.skipPast(')');
        continue;
      }
      elementBytes = bitsOfType(type) / 8;
      if (!elementBytes)
        fail("unknown type ." + type);
    } else {
      break;
    }
    if (!ok())
      return false;
  }
  v.name = in.name();
  if (v.name.empty() || !elementBytes) {
    fail("expected a variable with type and name");
    return false;
  }
  elementBytes *= vector;
  if (v.align < elementBytes)
    v.align = elementBytes;
  v.bytes = elementBytes;
  while (in.take('[')) {
    v.bytes = in.peek() == ']' ? 0 : v.bytes * integer();
    expect(']');
  }
  if (in.take('='))
    initializer(v, elementBytes / vector);
  return ok();
}

void Parser::initializer(Variable &v, unsigned elementBytes) {
  auto append = [&] {
    uint64_t bits = 0;
    double decimal;
    bool isDecimal;
    if (!in.number(bits, decimal, isDecimal) || isDecimal)
      return fail("an initializer of " + v.name + " is no number: addresses in initializers are not emulated");
    for (unsigned i = 0; i < elementBytes; i++)
      v.initial.push_back(uint8_t(bits >> (8 * i)));
  };
  if (!in.take('{'))
    return append();
  int depth = 1;
  while (ok() && depth) {
    if (in.take('{'))
      depth++;
    else if (in.take('}'))
      depth--;
    else if (!in.take(','))
      append();
  }
}

void Parser::parameters(std::vector<Variable> &list) {
  while (ok() && !in.take(')')) {
    if (!in.takeWord(".param") && !in.takeWord(".reg"))
      return fail("expected .param");
    Variable v;
    if (!variable("param", false, v))
      return;
    list.push_back(v);
    in.take(',');
  }
}

void Parser::performanceDirectives(Function &f) {
  auto three = [&](unsigned *values) {
    values[1] = values[2] = 1;
    values[0] = integer();
    for (int i = 1; i < 3 && in.take(','); i++)
      values[i] = integer();
  };
  for (;;) {
    if (in.takeWord(".maxntid"))
      three(f.maxThreads);
    else if (in.takeWord(".reqntid"))
      three(f.requiredThreads);
    else if (in.takeWord(".minnctapersm") || in.takeWord(".maxnreg") || in.takeWord(".maxclusterrank"))
      integer();
    else if (in.takeWord(".pragma"))
      in.skipPast(';');
    else if (!in.takeWord(".noreturn"))
      return;
  }
}

void Parser::function(bool isEntry) {
  Function f;
  f.isEntry = isEntry;
  f.line = in.line();
  if (in.take('('))
    parameters(f.results);
  f.name = in.name();
  if (in.take('('))
    parameters(f.parameters);
  performanceDirectives(f);
  if (in.take('{')) {
    f.hasBody = true;
    body(f);
  } else {
    expect(';');
  }
  if (ok())
    module.functions.push_back(std::move(f));
}

void Parser::body(Function &f) {
  int depth = 1;
  while (ok() && depth) {
    if (in.atEnd())
      return fail("the body of " + f.name + " does not end");
    Statement s;
    if (in.take('{')) {
      s.kind = Statement::Kind::Open;
      depth++;
    } else if (in.take('}')) {
      s.kind = Statement::Kind::Close;
      depth--;
      if (!depth)
        return;
    } else {
      statement(f);
      continue;
    }
    f.body.push_back(s);
  }
}

void Parser::statement(Function &f) {
  if (in.take(';'))
    return;
  if (in.peek() == '.')
    return directive(f);
  Statement s;
  if (in.atLabel()) {
    s.label = in.name();
    in.take(':');
    s.kind = Statement::Kind::Label;
    if (in.takeWord(".branchtargets")) {
      s.kind = Statement::Kind::BranchTargets;
      do
        s.targets.push_back(in.name());
      while (in.take(','));
      expect(';');
    } else if (in.takeWord(".callprototype")) {
      return fail("calls by pointer are not emulated");
    }
  } else {
    instruction(s);
  }
  f.body.push_back(std::move(s));
}

void Parser::directive(Function &f) {
  Statement s;
  if (in.takeWord(".loc") || in.takeWord(".file")) {
    in.skipPast('\n');
    return;
  }
  if (in.takeWord(".pragma")) {
    in.skipPast(';');
    return;
  }
  if (in.takeWord(".reg")) {
    registers(s);
    f.body.push_back(std::move(s));
    return;
  }
  bool isExtern = in.takeWord(".extern");
  for (const char *space : {"shared", "local", "param", "global", "const"})
    if (in.takeWord(std::string(".") + space)) {
      s.kind = Statement::Kind::Variable;
      if (variable(space, isExtern, s.variable))
        f.body.push_back(std::move(s));
      return expect(';');
    }
  fail("this directive is not emulated: `" + in.opcode() + "`");
}

// `.reg .b32 %r<12>;` declares %r0 to %r11.
void Parser::registers(Statement &s) {
  s.kind = Statement::Kind::Registers;
  if (in.takeWord(".v2") || in.takeWord(".v4"))
    return fail("vector registers are not emulated");
  std::string type = in.opcode();
  unsigned bits = type.empty() ? 0 : bitsOfType(type.substr(1));
  if (!bits)
    return fail("unknown register type `" + type + "`");
  do {
    std::string name = in.name();
    if (in.take('<')) {
      unsigned count = integer();
      expect('>');
      for (unsigned i = 0; i < count; i++)
        s.registers.push_back({name + std::to_string(i), bits});
    } else {
      s.registers.push_back({name, bits});
    }
  } while (ok() && in.take(','));
  expect(';');
}

void Parser::instruction(Statement &s) {
  Instruction &i = s.instruction;
  s.kind = Statement::Kind::Instruction;
  if (in.take('@')) {
    i.guardNegated = in.take('!');
    i.guard = in.name();
  }
  in.peek();
  i.line = in.line();
  std::string opcode = in.opcode();
  if (opcode.empty())
    return fail(std::string("expected an instruction, found `") + in.peek() + "`");
  for (size_t start = 0; start <= opcode.size();) {
    size_t dot = opcode.find('.', start);
    if (dot == std::string::npos)
      dot = opcode.size();
    i.opcode.push_back(opcode.substr(start, dot - start));
    start = dot + 1;
  }
  while (ok() && !in.take(';')) {
    i.operands.push_back(operand());
    if (!in.take(',') && in.peek() != ';')
      fail("expected `,` or `;` in " + opcode);
  }
}

Operand Parser::list(char close) {
  Operand o;
  o.kind = Operand::Kind::Vector;
  while (ok() && !in.take(close)) {
    o.parts.push_back(operand());
    in.take(',');
  }
  return o;
}

int64_t Parser::offset() {
  uint64_t bits = 0;
  double decimal;
  bool isDecimal = false;
  if (!in.number(bits, decimal, isDecimal) || isDecimal)
    fail("expected an offset");
  return int64_t(bits);
}

Operand Parser::operand(bool inAddress) {
  Operand o;
  if (in.take('{'))
    return list('}');
  if (in.take('('))
    return list(')');
  if (in.take('[')) {
    o.kind = Operand::Kind::Address;
    o.parts.push_back(operand(true));
    if (in.take('+') || in.peek() == '-')
      o.offset = offset();
    if (in.take(','))
      fail("an address with coordinates (tensor copies) is not emulated");
    expect(']');
    return o;
  }
  o.negated = in.take('!');
  bool isDecimal = false;
  if (in.number(o.bits, o.decimal, isDecimal)) {
    o.kind = isDecimal ? Operand::Kind::Decimal : Operand::Kind::Immediate;
    return o;
  }
  o.name = in.name();
  if (o.name.empty())
    fail(std::string("expected an operand, found `") + in.peek() + "`");
  o.kind = o.name == "_" ? Operand::Kind::Sink : Operand::Kind::Name;
  if (in.take('|')) {
    Operand pair;
    pair.kind = Operand::Kind::Pair;
    pair.parts = {o, operand()};
    return pair;
  }
  // `a+8` outside of brackets: the address of a variable with an offset.
  if (!inAddress && in.take('+'))
    o.offset = offset();
  return o;
}

} // namespace

const Operand &OperandList::operator[](size_t i) const {
  static const Operand missing;
  return i < size() ? *(begin() + long(i)) : missing;
}

std::string Instruction::spelling() const {
  std::string s;
  for (const std::string &part : opcode)
    s += (s.empty() ? "" : ".") + part;
  return s;
}

unsigned bitsOfType(const std::string &type) {
  static const std::map<std::string, unsigned> bits = {
      {"pred", 1},    {"b8", 8},    {"u8", 8},   {"s8", 8},   {"b16", 16}, {"u16", 16}, {"s16", 16},
      {"f16", 16},    {"bf16", 16}, {"b32", 32}, {"u32", 32}, {"s32", 32}, {"f32", 32}, {"f16x2", 32},
      {"bf16x2", 32}, {"tf32", 32}, {"b64", 64}, {"u64", 64}, {"s64", 64}, {"f64", 64}, {"b128", 128}, {"f32x2", 64}};
  auto found = bits.find(type);
  return found == bits.end() ? 0 : found->second;
}

bool parse(const std::string &text, Module &module, std::string &error) {
  Parser parser(text.substr(0, text.find('\0')), module);
  bool good = parser.run();
  error = parser.error;
  return good;
}

} // namespace cleave::emulated::ptx
