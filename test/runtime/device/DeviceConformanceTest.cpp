// The host as a device.
#include "test/runtime/device/DeviceConformance.h"

using namespace cleave::rt::test;

INSTANTIATE_TEST_SUITE_P(Host, DeviceConforms, testing::Values(DeviceKind{"generic", "host:generic"}), nameOf);
