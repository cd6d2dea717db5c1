#include "partitiontuner/support/caught.h"

#include <exception>
#include <new>

namespace pt {

Error Caught(const std::string& id, const std::string& doing, const char* who) {
  const std::string threw = std::string(who) + " threw, trying to " + doing;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, id + ".memory", "no memory to " + doing);
  } catch (const std::exception& thrown) {
    return MakeError(ErrorCode::kInternal, id + ".exception", threw + ": " + thrown.what());
  } catch (...) {
    return MakeError(ErrorCode::kInternal, id + ".exception", threw);
  }
}

}  // namespace pt
