// The CUDA driver on the fake GPU, whose work goes on while somebody asks for it, and which is lost with work that
// fails.
#include "test/cuda/cuda_lab.h"
#include "test/devices/plugin_rows.h"

namespace pt::testing {
namespace {

class CudaDeviceLab final : public DeviceLab {
 public:
  using DeviceLab::DeviceLab;
  ~CudaDeviceLab() override { CHECK(lab_.gpu.Violations().empty()); }
  DeviceDriver& driver() override { return *driver_; }
  void Enqueue(Stream& stream, std::function<Status()> body) override {
    lab_.gpu.Enqueue(cuda::AsCuda(stream)->handle(),
                     [this, body = std::move(body)] { return !IsLostNow() && body().ok(); });
  }

 private:
  CudaLab lab_;
  const std::unique_ptr<cuda::CudaDriver> driver_ = lab_.MakeDriver();
};

}  // namespace

DeviceRow CudaRow() {
  return {"CUDA on the fake GPU", MakeLab<CudaDeviceLab>, /*works_by_itself=*/false, /*outlives_errors=*/false};
}

}  // namespace pt::testing
