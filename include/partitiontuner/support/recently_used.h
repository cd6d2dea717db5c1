// RecentlyUsed: a bounded number of values by key, each made when it is first asked for. The one that was used least
// recently makes room. Thread-safe; how the values are used is not its matter.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "partitiontuner/support/result.h"

namespace pt {

// Every call that asks is a hit or a miss.
struct UseCounts {
  uint64_t hits = 0;     // what was there, or was just being made by another caller
  uint64_t misses = 0;   // what the caller had to make
  uint64_t failed = 0;   // misses that made nothing
  uint64_t dropped = 0;  // values that made room
  size_t kept = 0;       // values that are there now
};

template <typename Key, typename Value>
class RecentlyUsed {
 public:
  using Pointer = std::shared_ptr<const Value>;

  explicit RecentlyUsed(size_t most) : most_(std::max<size_t>(most, 1)) {}

  // The value of the key, or what `make()`, a Result<Pointer>, gives. Callers of the same key wait for the one that
  // makes it and get its error, if it has one; callers of other keys go on. An error is not kept: the next call makes
  // the value again. `make` must not ask for the same key.
  template <typename F>
  Result<Pointer> Get(const Key& key, const F& make);

  UseCounts counts() const;

 private:
  struct Entry {
    bool settled = false;  // made, or failed
    Pointer value;
    std::optional<Error> error;
    uint64_t last_use = 0;
  };
  // Settles an entry when its making ends, an exception included: no caller waits for ever.
  struct Making {
    RecentlyUsed& owner;
    const Key& key;
    Entry& entry;
    Result<Pointer> result = MakeError(ErrorCode::kInternal, "recently_used.thrown", "making the value threw");
    ~Making() { owner.Settle(key, entry, std::move(result)); }
  };

  void Settle(const Key& key, Entry& entry, Result<Pointer> result);
  std::vector<Pointer> TakeOldest();

  const size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::map<Key, std::shared_ptr<Entry>> entries_;  // those being made included
  uint64_t uses_ = 0;
  UseCounts counts_;
};

template <typename Key, typename Value>
template <typename F>
auto RecentlyUsed<Key, Value>::Get(const Key& key, const F& make) -> Result<Pointer> {
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      entry = found->second;
      ++counts_.hits;
      entry->last_use = ++uses_;
      settled_.wait(lock, [&] { return entry->settled; });
      if (entry->error) return *entry->error;
      return entry->value;
    }
    entry = std::make_shared<Entry>();
    entries_.emplace(key, entry);
    ++counts_.misses;
  }
  Making making{*this, key, *entry};
  making.result = make();
  return making.result;
}

template <typename Key, typename Value>
void RecentlyUsed<Key, Value>::Settle(const Key& key, Entry& entry, Result<Pointer> result) {
  std::vector<Pointer> dropped;  // they go without the lock
  const std::lock_guard lock(mutex_);
  entry.settled = true;
  if (result.ok()) {
    entry.value = std::move(result).value();
    entry.last_use = ++uses_;
    ++counts_.kept;
    dropped = TakeOldest();
  } else {
    entry.error = std::move(result).error();
    ++counts_.failed;
    entries_.erase(key);
  }
  settled_.notify_all();
}

template <typename Key, typename Value>
auto RecentlyUsed<Key, Value>::TakeOldest() -> std::vector<Pointer> {
  std::vector<Pointer> taken;
  while (counts_.kept > most_) {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      const bool older = oldest == entries_.end() || at->second->last_use < oldest->second->last_use;
      if (at->second->settled && older) oldest = at;
    }
    taken.push_back(oldest->second->value);  // who waited for it takes it from the entry yet
    entries_.erase(oldest);
    --counts_.kept;
    ++counts_.dropped;
  }
  return taken;
}

template <typename Key, typename Value>
UseCounts RecentlyUsed<Key, Value>::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace pt
