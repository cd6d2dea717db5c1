// Reads keys back: the inverse of what candidate/signature.h writes, as far as predictions need it. Views point into
// the text that was given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "partitiontuner/graph/data_type.h"

namespace pt {

struct KeyTensor {
  bool constant = false;
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
};

struct KeyNode {
  std::string_view op;                                      // with its domain, as the key has it
  std::map<std::string_view, std::string_view> attributes;  // their text: "[3,3]"
};

struct KeyForm {
  DataType storage = DataType::kUndefined;
  std::string_view layout;  // LayoutFromString reads it
  bool quantised = false;
};

struct RunKey {
  std::vector<KeyNode> nodes;
  // By name: "i0" a group's inputs, "o0" its outputs, "t0" what stays within, "c0" constants. In the order of first
  // use.
  std::vector<std::pair<std::string_view, KeyTensor>> tensors;
  std::vector<KeyForm> in, out;  // of the inputs and outputs by number
  std::string_view elision, variant;
  uint64_t reuse_kib = 0;  // 0 where the key says nothing of it

  const KeyTensor* find(std::string_view name) const;  // null where there is none
};

struct ReorderKeyWords {
  std::vector<int64_t> dims;
  KeyForm from, to;
  uint64_t reuse_kib = 0;
};

// Empty where the text is not such a key, or of a tensor whose dims only a run knows.
std::optional<RunKey> ReadRunKey(std::string_view key_text);
std::optional<ReorderKeyWords> ReadReorderKey(std::string_view key_text);
// "[3,3]"; empty where the text is not a list of integers.
std::optional<std::vector<int64_t>> ReadIntegers(std::string_view text);

}  // namespace pt
