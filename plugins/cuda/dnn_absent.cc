// In the place of dnn_frontend.cc where the headers of cuDNN or of its front end were missing when this was built.
#include "plugins/cuda/dnn.h"

namespace pt::cuda {

Result<std::shared_ptr<const Dnn>> LoadDnn(const std::string&) {
  return MakeError(ErrorCode::kDeviceUnusable, "cuda.no_cudnn", "this plugin was built without cuDNN's headers",
                   "call ./setup where CUDA's headers are, then configure and build anew");
}

}  // namespace pt::cuda
