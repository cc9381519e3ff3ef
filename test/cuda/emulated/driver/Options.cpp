#include "test/cuda/emulated/driver/Options.h"
#include <cstdlib>

namespace cleave::emulated {

Options readOptions() {
  Options o;
  auto text = [](const char *name) { return getenv((std::string("CLEAVE_EMULATED_") + name).c_str()); };
  auto number = [&](const char *name, auto &value) {
    if (const char *v = text(name))
      value = static_cast<std::decay_t<decltype(value)>>(strtoull(v, nullptr, 0));
  };
  number("SEED", o.seed);
  number("DELAY_US", o.delayMicroseconds);
  number("IGNORE_WAIT", o.ignoredWait);
  number("DEVICES", o.devices);
  number("MEMORY", o.memoryBytes);
  number("PINNED", o.pinnedBytes);
  number("DRIVER", o.driverVersion);
  number("RACES", o.races);
  number("BLOCKS", o.blocks);
  number("UNINITIALIZED", o.uninitialized);
  number("SHARED_UNINITIALIZED", o.sharedUninitialized);
  number("LOOKUPS", o.lookups);
  number("PLAIN_COPIES", o.plainCopies);
  if (const char *v = text("CAPABILITY")) {
    char *end;
    o.capabilityMajor = int(strtol(v, &end, 10));
    o.capabilityMinor = *end == '.' ? int(strtol(end + 1, nullptr, 10)) : 0;
  }
  if (const char *v = text("LEAKS"))
    o.leaksFail = std::string(v) == "fail";
  if (const char *v = text("REPORT"))
    o.report = v;
  return o;
}

} // namespace cleave::emulated
