#include "runtime/api/ProgramInputs.h"

#include "runtime/session/OutputNeeds.h"
#include "runtime/state/FloatConversion.h"

#include <cmath>

namespace cleave::rt {

void ProgramInputs::set(Session &session, const std::string &program, const GlobalTensor &tensor,
                        const std::byte *data) {
  restore(session, program);
  Input &input = given[program].try_emplace(tensor.port().name()->str(), Input{tensor, {}}).first->second;
  if (findProgram(session.plan(), "train_step") && findProgram(session.plan(), "evaluate"))
    input.data.assign(data, data + tensor.bytes());
  tensor.scatter(session, data);
}

void ProgramInputs::restore(Session &session, const std::string &program) {
  if (holder == program)
    return;
  holder = program;
  for (auto &[name, input] : given[program])
    if (!input.data.empty())
      input.tensor.scatter(session, input.data.data());
}

ProgramInputs::Ports ProgramInputs::unset(const fb::Program &program) const {
  Ports result; // stays without memory if all are set: steps allocate nothing
  auto inputs = given.find(program.name()->str());
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i)
    if (const fb::Port *port = program.inputs()->Get(i);
        inputs == given.end() || inputs->second.find(textOf(port->name())) == inputs->second.end())
      result.push_back(port);
  return result;
}

static Status notSet(const fb::Program &program, const fb::Port &input, const std::string &why = "") {
  std::string name = input.name()->str(), of = program.name()->str();
  return invalidArgument(why + "input '" + name + "' of " + of + " has no value: call cleave_set_input() with \"" + of +
                         "\" and \"" + name + "\" first");
}

static const fb::Port *firstNeeded(const fb::Plan &plan, const fb::Port &output,
                                   const std::vector<const fb::Port *> &inputs) {
  for (const fb::Port *input : inputs)
    if (dependsOn(plan, output, *input))
      return input;
  return nullptr;
}

Status ProgramInputs::checkAll(const fb::Program &program) const {
  Ports missing = unset(program);
  return missing.empty() ? Status::ok() : notSet(program, *missing[0]);
}

Status ProgramInputs::checkSome(const fb::Plan &plan, const fb::Program &program) const {
  Ports missing = unset(program);
  if (missing.empty())
    return Status::ok();
  const fb::Port *first = missing[0];
  for (size_t i = lengthOf(program.outputs()); i-- > 0;) {
    const fb::Port *needed = firstNeeded(plan, *program.outputs()->Get(i), missing);
    if (!needed)
      return Status::ok();
    first = needed;
  }
  return notSet(program, *first);
}

NonFiniteValue ProgramInputs::findNonFinite(const fb::Program &program) const {
  NonFiniteValue result;
  auto inputs = given.find(program.name()->str());
  if (inputs == given.end())
    return result;
  for (const auto &[name, input] : inputs->second) {
    ElementType type = elementType(input.tensor.port().dtype());
    uint64_t count = input.data.size() / elementSize(type), found = rt::findNonFinite(type, input.data.data(), count);
    result.sawAll &= !input.data.empty() || input.tensor.bytes() == 0 || !isFloating(type);
    if (found == count)
      continue;
    double value = loadElement(type, input.data.data() + found * elementSize(type));
    return {"input '" + name + "' holds a value that is " + whatItIs(value) + ", at element " + std::to_string(found),
            std::isinf(value)};
  }
  return result;
}

void ProgramInputs::noteRun(const fb::Program &program) { ranWithout[program.name()->str()] = unset(program); }

Status ProgramInputs::checkOutput(const fb::Plan &plan, const fb::Program &program, const fb::Port &output) const {
  std::string name = output.name()->str();
  auto run = ranWithout.find(program.name()->str());
  if (run == ranWithout.end())
    return invalidArgument("output '" + name + "' has no value: " + program.name()->str() + " has not run yet");
  const fb::Port *needed = firstNeeded(plan, output, run->second);
  return needed ? notSet(program, *needed, "output '" + name + "' has no value, because ") : Status::ok();
}

} // namespace cleave::rt
