// OpenVINO's driver, by its CPU device: memory of that device, and work of the test instead of requests.
#include "plugins/openvino/device.h"
#include "test/devices/plugin_rows.h"
#include "test/devices/queue_lab.h"
#include "test/openvino/runtime_for_tests.h"

namespace pt::testing {
namespace {

class OpenVinoLab final : public QueueLab {
 public:
  explicit OpenVinoLab(uint64_t lost_after)
      : QueueLab(lost_after, std::make_unique<openvino::OvDriver>(DeviceId(1u), "openvino:CPU",
                                                                  openvino::RuntimeForTests(), "CPU")) {}
};

}  // namespace

DeviceRow OpenVinoRow() { return {"OpenVINO, its CPU device", MakeLab<OpenVinoLab>}; }

}  // namespace pt::testing
