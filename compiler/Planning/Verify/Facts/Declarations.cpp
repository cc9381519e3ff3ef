#include "compiler/Planning/Verify/Facts/Declarations.h"

#include "compiler/Planning/Verify/Facts/Content.h"
#include "runtime/plan/PlanReader.h"

#include <cstring>

namespace cleave::plan {

using namespace rt;

namespace {

class Sealer {
public:
  explicit Sealer(const fb::Plan &plan) : plan_(plan) {}

  // A declared field that is missing here could be changed in a file, and the proof would not notice. The order is part
  // of the seal.
  uint64_t run() {
    addHeader();
    each(plan_.regions(), [&](const fb::Region &region) {
      add(region.name())
          .add(uint64_t(region.kind()))
          .add(region.bytes())
          .add(uint64_t{region.frames()})
          .add(uint64_t(region.space()))
          .add(uint64_t(region.counter()));
    });
    each(plan_.events(), [&](const fb::Event &event) { add(uint64_t{event.frames()}).add(uint64_t(event.counter())); });
    each(plan_.groups(), [&](const fb::Group &group) {
      addAll(group.axes());
      each(group.only(),
           [&](const fb::AxisPlaces &places) { add(uint64_t{places.axis()}).addAll(places.coordinates()); });
    });
    each(plan_.param_groups(),
         [&](const fb::ParamGroup &group) { add(group.name()).add(group.lr_scale()).add(group.weight_decay()); });
    each(plan_.states(), [&](const fb::State &state) { addState(state); });
    each(plan_.programs(), [&](const fb::Program &program) { addProgram(program); });
    // 64 bits are enough to find an error. A forger can seal the file again (Rationale.md, "Forged plans").
    return seal_.number().low;
  }

private:
  Sealer &add(uint64_t number) {
    seal_.add(number);
    return *this;
  }
  // A number is its bits: 0.0 and -0.0 are two declarations.
  Sealer &add(double number) {
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return add(bits);
  }
  Sealer &add(const flatbuffers::String *text) {
    seal_.add(textOf(text));
    return *this;
  }
  // The length comes first. Without it, the lists [0] and [1], one after the other, would read as [0, 1] and [].
  template <typename Vector> Sealer &addAll(const Vector *numbers) {
    add(uint64_t{lengthOf(numbers)});
    for (uint32_t i = 0; i < lengthOf(numbers); ++i)
      add(static_cast<uint64_t>(numbers->Get(i)));
    return *this;
  }
  template <typename Vector, typename Visit> void each(const Vector *entries, Visit visit) {
    add(uint64_t{lengthOf(entries)}); // first, so that the words tell where a list ends
    for (uint32_t i = 0; i < lengthOf(entries); ++i)
      visit(*entries->Get(i));
  }

  void addHeader() {
    add(plan_.target()).add(uint64_t{plan_.threads()}).add(uint64_t{plan_.micro_batches()}).add(plan_.batch());
    each(plan_.axes(), [&](const fb::Axis &axis) { add(axis.name()).add(uint64_t{axis.size()}); });
    each(plan_.streams(), [&](const flatbuffers::String &name) { add(&name); });
    addAll(plan_.data_axes());
    each(plan_.properties(), [&](const fb::Property &property) { add(property.key()).add(property.value()); });
    add(plan_.kind()).add(plan_.state_layout());
    each(plan_.where(), [&](const fb::AxisRange &range) {
      add(uint64_t{range.axis()}).add(uint64_t{range.begin()}).add(uint64_t{range.end()});
    });
  }

  void addState(const fb::State &state) {
    add(state.name()).add(uint64_t(state.role())).add(state.slot()).add(uint64_t(state.dtype())).add(state.elements());
    addAll(state.split_axes()).addAll(state.partial_axes()).add(uint64_t{state.region()}).add(state.offset());
    each(state.segments(), [&](const fb::Segment &segment) {
      add(segment.name()).addAll(segment.shape()).add(segment.offset()).add(uint64_t{segment.group()});
      add(uint64_t(segment.init())).add(segment.value()).add(segment.source()).add(uint64_t{segment.axis()});
      each(segment.aliases(), [&](const flatbuffers::String &alias) { add(&alias); });
    });
  }

  void addProgram(const fb::Program &program) {
    add(program.name()).add(uint64_t{program.entry()});
    for (const auto *ports : {program.inputs(), program.outputs()})
      each(ports, [&](const fb::Port &port) {
        add(port.name()).add(uint64_t(port.dtype())).addAll(port.shape()).add(uint64_t{port.region()});
        add(port.offset()).add(static_cast<uint64_t>(port.batch_dim())).addAll(port.split_axes());
        add(uint64_t{port.absent()});
      });
    each(program.meaning(), [&](const fb::Meaning &meaning) { add(meaning.name()); }); // the names that have a number
  }

  const fb::Plan &plan_;
  Expression seal_{"declared"};
};

} // namespace

uint64_t declarationsHash(const fb::Plan &plan) { return Sealer(plan).run(); }

} // namespace cleave::plan
