#include "tools/pt-profile/shard.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

namespace pt::tools {
namespace {

constexpr uint32_t kMostShards = 1'000'000;

std::optional<uint32_t> ReadNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

Error Wrong(const std::string& why, std::string hint = "give it as I/N, for instance 0/4 to 3/4") {
  return MakeError(ErrorCode::kUsage, "usage.value", "--shard: " + why, std::move(hint));
}

// The variable's number; nothing where it is not set.
Result<std::optional<uint32_t>> NumberOf(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::optional<uint32_t>();
  const std::optional<uint32_t> number = ReadNumber(text);
  if (!number) return Wrong(std::string(variable) + " is \"" + text + "\"; expected a number from 0 on");
  return number;
}

Result<uint32_t> IndexOfJob(std::string_view count) {
  PT_ASSIGN(const std::optional<uint32_t> task, NumberOf("SLURM_ARRAY_TASK_ID"));
  if (task) {
    PT_ASSIGN(const std::optional<uint32_t> first, NumberOf("SLURM_ARRAY_TASK_MIN"));
    if (first.value_or(0) > *task) {
      return Wrong("SLURM_ARRAY_TASK_ID " + std::to_string(*task) + " is below SLURM_ARRAY_TASK_MIN " +
                   std::to_string(*first));
    }
    return *task - first.value_or(0);
  }
  PT_ASSIGN(const std::optional<uint32_t> completion, NumberOf("JOB_COMPLETION_INDEX"));
  if (completion) return *completion;
  return Wrong("which of the " + std::string(count) +
                   " parts is this? Neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set",
               "give the part as well: --shard 0/" + std::string(count));
}

}  // namespace

Result<Shard> ParseShard(std::string_view text) {
  if (text.empty()) return Shard{};
  const size_t slash = text.find('/');
  const std::string_view count_text = slash == text.npos ? text : text.substr(slash + 1);
  const std::optional<uint32_t> count = ReadNumber(count_text);
  if (!count || *count == 0 || *count > kMostShards) {
    return Wrong("\"" + std::string(text) + "\" does not name a part; expected I/N or N, with N from 1 to " +
                 std::to_string(kMostShards));
  }
  Shard shard{0, *count};
  if (slash == text.npos) {
    PT_ASSIGN(shard.index, IndexOfJob(count_text));
  } else {
    const std::optional<uint32_t> index = ReadNumber(text.substr(0, slash));
    if (!index) return Wrong("\"" + std::string(text) + "\" does not name a part; expected I/N or N");
    shard.index = *index;
  }
  if (shard.index >= shard.count) {
    return Wrong("there is no part " + std::to_string(shard.index) + " of " + std::to_string(shard.count) +
                 "; parts are counted from 0 to " + std::to_string(shard.count - 1));
  }
  return shard;
}

}  // namespace pt::tools
