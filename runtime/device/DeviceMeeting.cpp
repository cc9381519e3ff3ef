#include "runtime/device/DeviceMeeting.h"

#include "runtime/device/cuda/NcclCommunicator.h"
#include "runtime/plan/TargetFamily.h"

namespace cleave::rt {

bool devicesMeetAlone(const std::string &target) { return targetFamily(target) == "cuda"; }

Status createDeviceCommunicator(const std::string &target, const LauncherRank &launched,
                                std::unique_ptr<Communicator> *result) {
  if (!devicesMeetAlone(target))
    return internal("processes of '" + target + "' do not meet without MPI");
  MeetingPoint point;
  CLEAVE_TRY(readMeetingPoint(launched, &point));
  return createNcclCommunicator(target, launched, point, result);
}

} // namespace cleave::rt
